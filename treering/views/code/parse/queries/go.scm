(function_declaration name: (identifier) @name body: (_) @body) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration
    type: [(type_identifier) @owner (pointer_type (type_identifier) @owner)]))
  name: (field_identifier) @name body: (_) @body) @definition.function
(type_spec name: (type_identifier) @name type: [(struct_type) (interface_type)] @body) @definition.class
(type_declaration (type_spec) @wrapped) @wrapper
(comment) @comment

(struct_type (field_declaration_list (field_declaration name: (field_identifier) @attribute)))

(call_expression function: (identifier) @callee) @call
(call_expression function: (selector_expression operand: (_) @receiver
  field: (field_identifier) @callee)) @call
(composite_literal type: (type_identifier) @callee) @call

(import_spec !name path: (_) @module) @import
(import_spec name: (package_identifier) @alias path: (_) @module) @import

(parameter_declaration name: (identifier) @variable
  type: [(type_identifier) @type (pointer_type (type_identifier) @type)]) @binding
(var_spec name: (identifier) @variable
  type: [(type_identifier) @type (pointer_type (type_identifier) @type)]) @binding
(short_var_declaration left: (expression_list . (identifier) @variable)
  right: (expression_list . [(composite_literal type: (type_identifier) @type)
    (unary_expression operand: (composite_literal type: (type_identifier) @type))])) @binding

;;; guard
[(block) (field_declaration_list) (source_file) (statement_list)] @block
(comment) @comment
(interpreted_string_literal) @string
(return_statement) @return
(if_statement) @branch
(call_expression) @call
[(selector_expression) (index_expression)] @outlives
(assignment_statement) @assignment
[(for_statement) (short_var_declaration) (assignment_statement) (range_clause)] @binder
(identifier) @name
(defer_statement) @scope
(import_declaration) @import
[(const_spec) (var_spec) (assignment_statement)] @setting
((call_expression function: (identifier) @panics arguments: (argument_list . (_)? @raised)) @raise
  (#eq? @panics "panic"))
(expression_statement . (interpreted_string_literal) .) @docstring
(expression_statement (call_expression)) @step
