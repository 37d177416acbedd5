(function_declaration name: (identifier) @name body: (_) @body) @definition.function
(generator_function_declaration name: (identifier) @name body: (_) @body) @definition.function
(method_definition name: (_) @name body: (_) @body) @definition.function
(class_declaration name: (_) @name body: (_) @body) @definition.class
(variable_declarator name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function
(lexical_declaration (variable_declarator) @wrapped) @wrapper
(variable_declaration (variable_declarator) @wrapped) @wrapper
(export_statement declaration: (_) @wrapped) @wrapper
(comment) @comment

(class_declaration (class_heritage (identifier) @base)) @derived
(class_body (field_definition property: (_) @attribute))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @attribute))

(call_expression function: (identifier) @callee) @call
(call_expression function: (member_expression object: (_) @receiver
  property: (property_identifier) @callee)) @call
(new_expression constructor: (identifier) @callee) @call
(new_expression constructor: (member_expression object: (_) @receiver
  property: (property_identifier) @callee)) @call

(import_statement (import_clause (identifier) @alias) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (namespace_import (identifier) @alias))
  source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @imported !alias)))
  source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @imported
  alias: (identifier) @alias))) source: (string (string_fragment) @module)) @import
((variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @require
  arguments: (arguments (string (string_fragment) @module)))) @import (#eq? @require "require"))
((variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @imported)
  value: (call_expression function: (identifier) @require
  arguments: (arguments (string (string_fragment) @module)))) @import (#eq? @require "require"))

(variable_declarator name: (identifier) @variable
  value: (new_expression constructor: (_) @type)) @binding
(assignment_expression left: [(identifier) (member_expression)] @variable
  right: (new_expression constructor: (_) @type)) @binding

;;; guard
[(class_body) (program) (statement_block) (switch_body)] @block
(comment) @comment
(string) @string
[(return_statement) (yield_expression)] @return
[(catch_clause) (if_statement) (ternary_expression) (while_statement)] @branch
(call_expression) @call
[(member_expression) (subscript_expression)] @outlives
(assignment_expression) @assignment
[(assignment_expression) (for_statement) (variable_declarator) (for_in_statement)] @binder
(identifier) @name
(finally_clause) @ending
(import_statement) @import
[(assignment_expression) (variable_declarator)] @setting
(throw_statement . (_)? @raised) @raise
(decorator) @decorator
(expression_statement . (string) .) @docstring
(expression_statement (call_expression)) @step
(expression_statement (await_expression (call_expression))) @step
