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
