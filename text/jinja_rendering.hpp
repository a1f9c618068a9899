// One rendering of a template: variables, output, and what it may use.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_ast.hpp"
#include "text/jinja_budget.hpp"
#include "text/jinja_value.hpp"

namespace troupe::text::jinja {

/// The variables of a loop turn, macro call or block; names point into the syntax tree.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables;
  bool captured = false;  ///< a macro or a recursive loop needs it: it stays until the end
};

struct Macro {
  const MacroDefinition* definition;
  Scope* scope;  ///< where it was defined
};

class Rendering {
 public:
  /// `now_s`: Unix time that strftime_now() shows, as UTC.
  explicit Rendering(int64_t now_s) : now_s_(now_s) {}
  ~Rendering();
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  /// Renders the block with these variables; once. Throws Failure.
  std::string run(const Block& block, const std::vector<std::pair<std::string, Value>>& variables);

  Budget& budget() { return budget_; }
  [[nodiscard]] int64_t now_s() const { return now_s_; }

  Value call(const Value& callee, const Arguments& arguments);
  Value filter(const std::string& name, const Value& input, const Arguments& arguments);
  bool test(const std::string& name, const Value& input, const Arguments& arguments);
  Value make_name_space(std::vector<std::pair<std::string, Value>> variables);

 private:
  enum class Flow : uint8_t { next, leave_loop, next_turn };

  /// A scope while it is open.
  class Opened {
   public:
    Opened(Rendering& rendering, Scope* parent);
    ~Opened();
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

   private:
    Rendering& rendering_;
    Scope* before_;
  };

  /// Counts the nesting of evaluation while it lives.
  class Nested {
   public:
    explicit Nested(Rendering& rendering);
    ~Nested() { --rendering_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Rendering& rendering_;
  };

  // Statements.
  Flow run_block(const Block& block);
  Flow run_statement(const Statement& statement);
  Flow run(const Text& node);
  Flow run(const Output& node);
  Flow run(const If& node);
  Flow run(const For& node);
  Flow run(const Set& node);
  Flow run(const SetBlock& node);
  Flow run(const FilterBlock& node);
  Flow run(const MacroDefinition& node);
  Flow run(const CallBlock& node);
  Flow run(const With& node);
  Flow run(const Plain& node);
  Flow run(const NamedBlock& node);
  Flow run(const AutoEscape& node);
  Flow run(const OtherTemplate& node);
  Flow run(const Break&) { return Flow::leave_loop; }
  Flow run(const Continue&) { return Flow::next_turn; }
  /// `around`: the scope that loop(items) starts from again.
  Flow run_loop(const For& node, const Value& from, int level, Scope* around);
  Value call_loop(const LoopState& loop, const Arguments& arguments);
  std::vector<Value> loop_items(const For& node, const Value& from);
  std::string capture(const Block& body);
  void write(std::string_view text);
  void assign(const Target& target, const Value& value);
  void set_variable(std::string_view name, Value value);
  void keep_scopes();
  Macro* make_macro(const MacroDefinition& definition);
  Value call_macro(const Macro& macro, const Arguments& arguments);
  void bind_parameters(const Macro& macro, const Arguments& arguments);
  void bind_further(const MacroDefinition& definition, const Arguments& arguments);

  // Expressions.
  Value evaluate(const Expression& expression);
  Value evaluate_optional(const ExpressionPtr& expression);
  Value evaluate(const Literal& node) { return node.value; }
  Value evaluate(const Name& node);
  Value evaluate(const SequenceExpression& node);
  Value evaluate(const DictExpression& node);
  Value evaluate(const Unary& node);
  Value evaluate(const Binary& node);
  Value evaluate(const Logical& node);
  Value evaluate(const Compare& node);
  Value evaluate(const Concat& node);
  Value evaluate(const Conditional& node);
  Value evaluate(const Attribute& node);
  Value evaluate(const Index& node);
  Value evaluate(const Slice& node);
  Value evaluate(const Call& node);
  Value evaluate(const FilterCall& node);
  Value evaluate(const TestCall& node);
  Arguments evaluate(const CallArguments& arguments);

  Budget budget_;
  int64_t now_s_;
  int depth_ = 0;
  std::string* out_ = nullptr;
  Scope* scope_ = nullptr;
  Scope* root_ = nullptr;                    ///< the template's own variables
  const std::string* block_text_ = nullptr;  ///< what a filter block's filter gets
  std::deque<std::unique_ptr<Scope>> captured_;
  std::deque<NameSpace> name_spaces_;
  std::deque<Macro> macros_;
};

/// name, arguments, caller, catch_kwargs, catch_varargs.
Value macro_attribute(Budget& budget, const Macro& macro, const Value& self,
                      const std::string& name);

// Tables, each in the file of its name.
using FilterFunction = Value (*)(Rendering&, const Value& input, const Arguments&);
using TestFunction = bool (*)(Rendering&, const Value& input, const Arguments&);
FilterFunction find_text_filter(std::string_view name);
FilterFunction find_layout_filter(std::string_view name);
FilterFunction find_markup_filter(std::string_view name);
FilterFunction find_sequence_filter(std::string_view name);
FilterFunction find_selection_filter(std::string_view name);
FilterFunction find_value_filter(std::string_view name);
/// The filter of this name in all tables; null if there is none.
FilterFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);
const Builtin* find_global(std::string_view name);

}  // namespace troupe::text::jinja
