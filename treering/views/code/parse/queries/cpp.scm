(function_definition declarator: (function_declarator
  declarator: [(identifier) (field_identifier) (destructor_name) (operator_name)] @name)
  body: (_) @body) @definition.function
(function_definition declarator: (_ (function_declarator
  declarator: [(identifier) (field_identifier)] @name)) body: (_) @body) @definition.function
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier scope: (_) @owner name: (_) @name)) body: (_) @body) @definition.function
(function_definition declarator: (_ (function_declarator
  declarator: (qualified_identifier scope: (_) @owner name: (_) @name))) body: (_) @body) @definition.function
(class_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(struct_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(enum_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(namespace_definition name: (_) @name body: (_)) @scope
(preproc_function_def name: (identifier) @name) @definition.function
(template_declaration (_) @wrapped) @wrapper
(comment) @comment

(class_specifier (base_class_clause (type_identifier) @base)) @derived
(struct_specifier (base_class_clause (type_identifier) @base)) @derived
(field_declaration declarator: (field_identifier) @attribute)

(call_expression function: (identifier) @callee) @call
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @callee)) @call
(call_expression function: (qualified_identifier scope: (_) @receiver name: (identifier) @callee)) @call
(new_expression type: (type_identifier) @callee) @call

(preproc_include path: (_) @module) @import

(declaration type: (type_identifier) @type declarator: (identifier) @variable) @binding
(declaration type: (type_identifier) @type
  declarator: (init_declarator declarator: (identifier) @variable)) @binding
(declaration type: (type_identifier) @type
  declarator: (init_declarator declarator: (pointer_declarator (identifier) @variable))) @binding
(parameter_declaration type: (type_identifier) @type declarator: (identifier) @variable) @binding
(parameter_declaration type: (type_identifier) @type
  declarator: (_ (identifier) @variable)) @binding

;;; guard
[(compound_statement) (declaration_list) (field_declaration_list) (translation_unit)] @block
(comment) @comment
(string_literal) @string
(return_statement) @return
[(catch_clause) (conditional_expression) (if_statement) (while_statement)] @branch
(call_expression) @call
[(attribute) (field_expression) (subscript_expression) (pointer_expression)] @outlives
(assignment_expression) @assignment
[(assignment_expression) (for_statement) (init_declarator)] @binder
(identifier) @name
(preproc_include) @import
[(assignment_expression) (init_declarator)] @setting
(throw_statement . (_)? @raised) @raise
(expression_statement . (string_literal) .) @docstring
(expression_statement (call_expression)) @step
