(method name: (_) @name) @definition.function
(method body: (_) @body) @bodied
(singleton_method name: (_) @name) @definition.function
(singleton_method body: (_) @body) @bodied
(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.class
(class body: (_) @body) @bodied
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.class
(module body: (_) @body) @bodied
(comment) @comment

(class superclass: (superclass (constant) @base)) @derived
(assignment left: (instance_variable) @attribute)

(call !receiver method: (identifier) @callee) @call
((call receiver: (constant) @callee method: (identifier) @new) @call (#eq? @new "new"))
((call receiver: (_) @receiver method: (identifier) @callee) @call (#not-eq? @callee "new"))
(body_statement (identifier) @callee @call)

((call method: (identifier) @require arguments: (argument_list (string (string_content) @module))) @import
  (#match? @require "^require(_relative)?$"))

((assignment left: [(identifier) (instance_variable)] @variable
  right: (call receiver: (constant) @type method: (identifier) @new)) @binding (#eq? @new "new"))

;;; guard
[(block) (body_statement) (do) (module) (program) (then)] @block
(comment) @comment
(string) @string
[(yield) (return)] @return
[(conditional) (if) (if_modifier) (unless) (unless_modifier) (rescue) (elsif) (while) (until)
  (when)] @branch
(call) @call
[(instance_variable) (class_variable) (global_variable) (element_reference)] @outlives
(assignment) @assignment
[(as_pattern) (assignment)] @binder
(identifier) @name
(ensure) @ending
(assignment) @setting
[(body_statement (call) @step) (then (call) @step)]
((call method: (identifier) @raises arguments: (argument_list . (_)? @raised)) @raise
  (#eq? @raises "raise"))
((call method: (identifier) @raises !arguments) @raise (#eq? @raises "raise"))
