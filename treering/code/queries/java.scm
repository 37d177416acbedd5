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
