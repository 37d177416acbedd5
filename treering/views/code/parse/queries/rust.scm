(function_item name: (identifier) @name body: (_) @body) @definition.function
(struct_item name: (type_identifier) @name) @definition.class
(struct_item body: (_) @body) @bodied
(enum_item name: (type_identifier) @name body: (_) @body) @definition.class
(trait_item name: (type_identifier) @name body: (_) @body) @definition.class
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @impl
(mod_item name: (identifier) @name body: (_)) @scope
(macro_definition name: (identifier) @name) @definition.function
(line_comment) @comment
(block_comment) @comment

(field_declaration name: (field_identifier) @attribute)

(call_expression function: (identifier) @callee) @call
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @callee)) @call
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @callee)) @call
(macro_invocation macro: (identifier) @callee) @call
(struct_expression name: (type_identifier) @callee) @call

(use_declaration argument: (scoped_identifier path: (_) @module name: (identifier) @imported)) @import
(use_declaration argument: (scoped_use_list path: (_) @module
  list: (use_list (identifier) @imported))) @import
(use_declaration argument: (scoped_use_list path: (_) @module
  list: (use_list (use_as_clause path: (identifier) @imported alias: (identifier) @alias)))) @import
(use_declaration argument: (use_as_clause
  path: (scoped_identifier path: (_) @module name: (identifier) @imported)
  alias: (identifier) @alias)) @import
(use_declaration argument: (use_wildcard (_) @module) @wildcard) @import

(let_declaration pattern: (identifier) @variable
  value: (call_expression function: (scoped_identifier path: (identifier) @type))) @binding
(let_declaration pattern: (identifier) @variable value: (struct_expression name: (_) @type)) @binding
(let_declaration pattern: (identifier) @variable type: (type_identifier) @type) @binding
(parameter pattern: (identifier) @variable
  type: [(type_identifier) @type (reference_type type: (type_identifier) @type)]) @binding

;;; guard
[(block) (declaration_list) (field_declaration_list) (source_file)] @block
[(block_comment) (line_comment)] @comment
(string_literal) @string
[(return_expression) (yield_expression)] @return
[(if_expression) (while_expression)] @branch
(call_expression) @call
[(attribute) (field_expression) (index_expression)] @outlives
(assignment_expression) @assignment
[(assignment_expression) (let_declaration)] @binder
(identifier) @name
(use_declaration) @import
[(assignment_expression) (const_item) (static_item)] @setting
((macro_invocation macro: (identifier) @raised) @raise
  (#any-of? @raised "panic" "bail" "ensure" "unreachable" "todo" "assert"))
(expression_statement . (string_literal) .) @docstring
(expression_statement (call_expression)) @step
(expression_statement (await_expression (call_expression))) @step
