(function_definition name: (name) @name body: (_) @body) @definition.function
(method_declaration name: (name) @name) @definition.function
(method_declaration body: (_) @body) @bodied
(class_declaration name: (name) @name body: (_) @body) @definition.class
(interface_declaration name: (name) @name body: (_) @body) @definition.class
(trait_declaration name: (name) @name body: (_) @body) @definition.class
(enum_declaration name: (name) @name body: (_) @body) @definition.class
(comment) @comment

(class_declaration (base_clause (name) @base)) @derived
(class_declaration (class_interface_clause (name) @base)) @derived
(property_declaration (property_element name: (variable_name (name) @attribute)))

(function_call_expression function: (name) @callee) @call
(member_call_expression object: (_) @receiver name: (name) @callee) @call
(scoped_call_expression scope: (_) @receiver name: (name) @callee) @call
(object_creation_expression (name) @callee) @call

(namespace_use_clause (qualified_name prefix: (_) @module (name) @imported) !alias) @import
(namespace_use_clause (qualified_name prefix: (_) @module (name) @imported) alias: (name) @alias) @import
(require_once_expression (string (string_content) @module)) @import
(require_expression (string (string_content) @module)) @import

(assignment_expression left: (variable_name) @variable
  right: (object_creation_expression (name) @type)) @binding
(simple_parameter type: (named_type (name) @type) name: (variable_name) @variable) @binding

;;; guard
[(program) (compound_statement) (declaration_list) (enum_declaration_list)] @block
(comment) @comment
[(string) (encapsed_string)] @string
[(return_statement) (yield_expression)] @return
[(if_statement) (else_if_clause) (while_statement) (conditional_expression) (catch_clause)] @branch
[(function_call_expression) (member_call_expression) (scoped_call_expression)] @call
[(member_access_expression) (subscript_expression) (scoped_property_access_expression)] @outlives
[(assignment_expression) (augmented_assignment_expression)] @assignment
[(assignment_expression) (catch_clause)] @binder
(variable_name (name) @name)
(member_access_expression name: (name) @member)
(finally_clause) @ending
[(namespace_use_declaration) (expression_statement (require_once_expression))] @import
[(assignment_expression) (const_element) (property_element)] @setting
(throw_expression (object_creation_expression [(name) (qualified_name)] @raised)) @raise
(attribute) @decorator
(function_call_expression arguments: (arguments (argument name: (_)) @option))
[(expression_statement (function_call_expression)) (expression_statement (member_call_expression))
  (expression_statement (scoped_call_expression))] @step
