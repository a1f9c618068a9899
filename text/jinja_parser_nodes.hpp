// What the halves of the expression parser share: nodes that know their height.
#pragma once

#include <algorithm>

#include "text/jinja_error.hpp"
#include "text/jinja_parser.hpp"
#include "text/text_limits.hpp"

namespace troupe::text::jinja {

template <class Node>
ExpressionPtr Parser::make(int line, Node node, int below) {
  if (below >= limits::template_tree_height_max) {
    throw Failure{Code::invalid_argument,
                  concat("an expression has more than ", limits::template_tree_height_max,
                         " operations in a row"),
                  line};
  }
  return std::make_unique<Expression>(Expression{line, below + 1, std::move(node)});
}

inline int height(const ExpressionPtr& e) {
  return e == nullptr ? 0 : e->height;
}

template <class... Rest>
int height(const ExpressionPtr& e, const Rest&... rest) {
  return std::max(height(e), height(rest...));
}

inline int height(const std::vector<ExpressionPtr>& list) {
  int highest = 0;
  for (const ExpressionPtr& e : list) highest = std::max(highest, e->height);
  return highest;
}

inline int height(const CallArguments& arguments) {
  int highest =
      std::max(height(arguments.positional), height(arguments.more, arguments.more_named));
  for (const auto& [name, value] : arguments.named) highest = std::max(highest, value->height);
  return highest;
}

}  // namespace troupe::text::jinja
