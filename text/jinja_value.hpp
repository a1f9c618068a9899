// Values of the template language. Immutable but for namespaces, as in Jinja's immutable sandbox;
// copies share what they hold. No value can contain itself: containers are built after what they
// hold, and namespaces and macros belong to the rendering (raw pointers here).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::text::jinja {

class Value;
class Rendering;
struct Arguments;
struct Macro;
struct LoopState;
struct Cycler;
struct For;
struct Scope;

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  sequence,
  dict,
  builtin,
  method,
  macro,
  name_space,
  loop,
  cycler
};

struct Undefined {
  std::shared_ptr<const std::string> why;  ///< sentence for the error of using it; may be null
};
struct None {};

struct String {
  std::string bytes;  ///< valid UTF-8
  bool safe = false;  ///< marked by |safe: what is added to it is HTML-escaped
};

/// Which of Python's sequences: they differ in how they print, compare and what they allow.
/// group: the tuple of groupby, whose items have names.
enum class Flavour : uint8_t { list, tuple, group, range, generator, keys, values, items };

struct Sequence {
  Flavour flavour = Flavour::list;
  std::vector<Value> items;
  int depth = 1;             ///< nesting of containers, bounded so that recursion over values is
  mutable size_t taken = 0;  ///< items that a generator has given: it gives each only once

  [[nodiscard]] bool is_tuple() const {
    return flavour == Flavour::tuple || flavour == Flavour::group;
  }
  [[nodiscard]] bool has_index() const { return flavour <= Flavour::range; }
};

struct Dict {
  std::vector<std::pair<Value, Value>> items;  ///< in order of insertion, keys distinct
  int depth = 1;
};

struct NameSpace {
  std::vector<std::pair<std::string, Value>> variables;
};

struct Builtin {
  const char* name;
  Value (*call)(Rendering& rendering, const Arguments& arguments);
};

/// A method taken off its object: x.get without the call.
struct Method {
  std::shared_ptr<const Value> self;
  std::string name;
};

class Value {
 public:
  Value() = default;
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  static Value string(std::string bytes, bool safe = false);
  static Value undefined(std::string why);
  /// Fails if nested deeper than limits::template_source_depth_max.
  static Value sequence(std::vector<Value> items, Flavour flavour = Flavour::list);
  static Value dict(std::vector<std::pair<Value, Value>> items);
  static Value builtin(const Builtin* builtin);
  static Value method(Value self, std::string name);
  static Value macro(const Macro* macro);
  static Value name_space(NameSpace* name_space);
  static Value loop(std::shared_ptr<const LoopState> loop);
  /// A cycler, or a joiner: the texts "" and then, for ever, the separator.
  static Value cycler(std::vector<Value> items, bool joiner);

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(data_.index()); }
  [[nodiscard]] bool is(Kind kind_wanted) const { return kind() == kind_wanted; }

  // Each requires its kind.
  [[nodiscard]] bool as_boolean() const { return std::get<bool>(data_); }
  [[nodiscard]] int64_t as_integer() const { return std::get<int64_t>(data_); }
  [[nodiscard]] double as_real() const { return std::get<double>(data_); }
  [[nodiscard]] const std::string& as_string() const { return text().bytes; }
  [[nodiscard]] const String& text() const {
    return *std::get<std::shared_ptr<const String>>(data_);
  }
  [[nodiscard]] const Sequence& as_sequence() const {
    return *std::get<std::shared_ptr<const Sequence>>(data_);
  }
  [[nodiscard]] const Dict& as_dict() const {
    return *std::get<std::shared_ptr<const Dict>>(data_);
  }
  [[nodiscard]] const Builtin* as_builtin() const { return std::get<const Builtin*>(data_); }
  [[nodiscard]] const Method& as_method() const {
    return *std::get<std::shared_ptr<const Method>>(data_);
  }
  [[nodiscard]] const Macro* as_macro() const { return std::get<const Macro*>(data_); }
  [[nodiscard]] NameSpace* as_name_space() const { return std::get<NameSpace*>(data_); }
  [[nodiscard]] const LoopState& as_loop() const {
    return *std::get<std::shared_ptr<const LoopState>>(data_);
  }
  [[nodiscard]] const Cycler& as_cycler() const {
    return *std::get<std::shared_ptr<const Cycler>>(data_);
  }
  /// The sentence of an undefined value.
  [[nodiscard]] std::string why_undefined() const;

  /// Integers, and booleans as 0 and 1.
  [[nodiscard]] bool is_integral() const { return is(Kind::boolean) || is(Kind::integer); }
  [[nodiscard]] bool is_number() const { return is_integral() || is(Kind::real); }
  [[nodiscard]] int64_t to_integer() const;  ///< requires is_integral()
  [[nodiscard]] double to_real() const;      ///< requires is_number()

  [[nodiscard]] bool truth() const;
  [[nodiscard]] int depth() const;
  /// Python's name of the type, for messages.
  [[nodiscard]] const char* type_name() const;
  /// The value of a string key, or null.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// The same object, not just an equal one (Python's "is").
  [[nodiscard]] bool same_as(const Value& other) const;

 private:
  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const String>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, const Builtin*,
               std::shared_ptr<const Method>, const Macro*, NameSpace*,
               std::shared_ptr<const LoopState>, std::shared_ptr<const Cycler>>
      data_;
};

/// Where a for loop stands. Lives as long as a value refers to it.
struct LoopState {
  std::vector<Value> items;
  size_t index = 0;
  int level = 0;  ///< of recursion
  int depth = 1;
  const For* recursive = nullptr;  ///< what loop(items) runs; null: nothing
  Scope* scope = nullptr;          ///< around a recursive loop
  bool over = false;
  /// What loop.changed() was asked last; none when the loop is over, so that no loop holds itself.
  mutable std::vector<Value> asked;
  mutable bool was_asked = false;
};

/// The one kind of value besides namespaces that changes: where it stands. What it holds does not.
struct Cycler {
  std::vector<Value> items;
  bool joiner;
  int depth;
  mutable size_t at = 0;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

using Pairs = std::vector<std::pair<Value, Value>>;

}  // namespace troupe::text::jinja
