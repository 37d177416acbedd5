(class_declaration name: (identifier) @name body: (_) @body) @definition.class
(interface_declaration name: (identifier) @name body: (_) @body) @definition.class
(enum_declaration name: (identifier) @name body: (_) @body) @definition.class
(record_declaration name: (identifier) @name body: (_) @body) @definition.class
(method_declaration name: (identifier) @name) @definition.function
(method_declaration body: (_) @body) @bodied
(constructor_declaration name: (identifier) @name body: (_) @body) @definition.function
(line_comment) @comment
(block_comment) @comment

(class_declaration superclass: (superclass (type_identifier) @base)) @derived
(class_declaration interfaces: (super_interfaces (type_list (type_identifier) @base))) @derived
(field_declaration declarator: (variable_declarator name: (identifier) @attribute))

(method_invocation !object name: (identifier) @callee) @call
(method_invocation object: (_) @receiver name: (identifier) @callee) @call
(object_creation_expression type: (type_identifier) @callee) @call

(import_declaration (scoped_identifier) @module) @import

(local_variable_declaration type: (type_identifier) @type
  declarator: (variable_declarator name: (identifier) @variable)) @binding
(field_declaration type: (type_identifier) @type
  declarator: (variable_declarator name: (identifier) @variable)) @binding
(formal_parameter type: (type_identifier) @type name: (identifier) @variable) @binding

;;; guard
[(block) (class_body) (constructor_body) (enum_body) (interface_body) (program) (switch_block)]
  @block
[(block_comment) (line_comment)] @comment
(string_literal) @string
(return_statement) @return
[(assert_statement) (catch_clause) (if_statement) (ternary_expression) (while_statement)
  (switch_label)] @branch
(method_invocation) @call
[(field_access) (array_access)] @outlives
(assignment_expression) @assignment
[(assignment_expression) (for_statement) (variable_declarator) (enhanced_for_statement)] @binder
(identifier) @name
[(resource) (synchronized_statement)] @scope
(finally_clause) @ending
(import_declaration) @import
[(assignment_expression) (variable_declarator)] @setting
(throw_statement . (_)? @raised) @raise
(field_access field: (identifier) @member)
(method_invocation name: (identifier) @member)
(modifiers [(marker_annotation) (annotation)] @decorator)
(expression_statement . (string_literal) .) @docstring
(expression_statement (method_invocation)) @step
