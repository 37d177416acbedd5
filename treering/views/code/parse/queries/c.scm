(function_definition declarator: (function_declarator declarator: (identifier) @name)
  body: (_) @body) @definition.function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name)) body: (_) @body) @definition.function
(struct_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(union_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(enum_specifier name: (type_identifier) @name body: (_) @body) @definition.class
(preproc_function_def name: (identifier) @name) @definition.function
(comment) @comment

(field_declaration declarator: (field_identifier) @attribute)

(call_expression function: (identifier) @callee) @call

(preproc_include path: (_) @module) @import

;;; guard
[(compound_statement) (declaration_list) (field_declaration_list) (translation_unit)] @block
(comment) @comment
(string_literal) @string
(return_statement) @return
[(conditional_expression) (if_statement) (while_statement)] @branch
(call_expression) @call
[(attribute) (field_expression) (subscript_expression) (pointer_expression)] @outlives
(assignment_expression) @assignment
[(assignment_expression) (for_statement) (init_declarator)] @binder
(identifier) @name
(preproc_include) @import
[(assignment_expression) (init_declarator)] @setting
(expression_statement . (string_literal) .) @docstring
(expression_statement (call_expression)) @step
