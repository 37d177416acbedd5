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
