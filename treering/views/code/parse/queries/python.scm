(function_definition name: (identifier) @name body: (_) @body) @definition.function
(class_definition name: (identifier) @name body: (_) @body) @definition.class
(decorated_definition definition: (_) @wrapped) @wrapper

(function_definition body: (block . (expression_statement (string) @doc))) @documented
(class_definition body: (block . (expression_statement (string) @doc))) @documented
(comment) @comment

(class_definition superclasses: (argument_list [(identifier) (attribute)] @base)) @derived
(class_definition body: (block (expression_statement (assignment left: (identifier) @attribute))))
((assignment left: (attribute object: (identifier) @self attribute: (identifier) @attribute))
  (#eq? @self "self"))

(call function: (identifier) @callee) @call
(call function: (attribute object: (_) @receiver attribute: (identifier) @callee)) @call
(decorator (identifier) @callee) @call

(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @imported) @import
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (dotted_name) @imported alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @wildcard) @import

(assignment left: [(identifier) (attribute)] @variable right: (call function: (_) @type)) @binding
(assignment left: [(identifier) (attribute)] @variable type: (type) @type) @binding
(typed_parameter (identifier) @variable type: (type) @type) @binding
(typed_default_parameter name: (identifier) @variable type: (type) @type) @binding
(with_item value: (as_pattern (call function: (_) @type)
  alias: (as_pattern_target (identifier) @variable))) @binding

;;; guard
[(block) (module)] @block
(comment) @comment
(string) @string
[(return_statement) (yield)] @return
[(assert_statement) (case_clause) (conditional_expression) (elif_clause) (except_clause)
  (if_clause) (if_statement) (while_statement)] @branch
(call) @call
[(attribute) (subscript)] @outlives
[(assignment) (augmented_assignment)] @assignment
[(as_pattern) (assignment) (augmented_assignment) (for_in_clause) (for_statement)
  (named_expression)] @binder
(identifier) @name
(with_item) @scope
(finally_clause) @ending
[(future_import_statement) (import_from_statement) (import_statement)] @import
(assignment) @setting
(raise_statement . (_)? @raised) @raise
(decorator) @decorator
(call arguments: (argument_list (keyword_argument) @option))
(attribute attribute: (identifier) @member)
(expression_statement . (string) .) @docstring
(expression_statement (call)) @step
(expression_statement (await (call))) @step
