(class_declaration name: (identifier) @name body: (_) @body) @definition.class
(interface_declaration name: (identifier) @name body: (_) @body) @definition.class
(struct_declaration name: (identifier) @name body: (_) @body) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name body: (_) @body) @definition.class
(method_declaration name: (identifier) @name) @definition.function
(method_declaration body: (_) @body) @bodied
(constructor_declaration name: (identifier) @name body: (_) @body) @definition.function
(local_function_statement name: (identifier) @name body: (_) @body) @definition.function
(namespace_declaration name: (_) @name body: (_)) @scope
(comment) @comment

(class_declaration (base_list (identifier) @base)) @derived
(field_declaration (variable_declaration (variable_declarator name: (identifier) @attribute)))
(property_declaration name: (identifier) @attribute)

(invocation_expression function: (identifier) @callee) @call
(invocation_expression function: (member_access_expression expression: (_) @receiver
  name: (identifier) @callee)) @call
(object_creation_expression type: (identifier) @callee) @call

(using_directive [(identifier) (qualified_name)] @module) @import

(variable_declaration type: (identifier) @type
  (variable_declarator name: (identifier) @variable)) @binding
(variable_declaration (variable_declarator name: (identifier) @variable
  (object_creation_expression type: (identifier) @type))) @binding
(property_declaration type: (identifier) @type name: (identifier) @variable) @binding
(parameter type: (identifier) @type name: (identifier) @variable) @binding

;;; guard
[(block) (compilation_unit) (declaration_list) (switch_body)] @block
(comment) @comment
(string_literal) @string
[(return_statement) (yield_statement)] @return
[(catch_clause) (conditional_expression) (if_statement) (while_statement)] @branch
(invocation_expression) @call
[(attribute) (member_access_expression) (element_access_expression)] @outlives
(assignment_expression) @assignment
[(assignment_expression) (for_statement)] @binder
(identifier) @name
[(lock_statement) (using_statement)] @scope
(finally_clause) @ending
(using_directive) @import
[(assignment_expression) (variable_declarator)] @setting
[(throw_statement) (throw_expression)] @raise
(throw_statement (_) @raised)
(throw_expression (_) @raised)
(member_access_expression name: (identifier) @member)
(invocation_expression arguments: (argument_list (argument name: (_)) @option))
(attribute_list) @decorator
(expression_statement (invocation_expression)) @step
(expression_statement (await_expression (invocation_expression))) @step
