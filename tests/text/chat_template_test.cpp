#include "text/chat_template.hpp"

#include <doctest/doctest.h>

#include "text/text_limits.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

Result<std::string> try_render(const std::string& source, const Json& variables = Json::object()) {
  auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.error();
  RenderInput input;
  input.variables = variables;
  input.bos_token = "<s>";
  input.now_s = 1773500966;  // 2026-03-14 15:09:26
  return parsed->render(input);
}

std::string render(const std::string& source, const Json& variables = Json::object()) {
  auto out = try_render(source, variables);
  return out.ok() ? *out : "ERROR " + out.error().message();
}

}  // namespace

TEST_CASE("white space around tags follows trim_blocks, lstrip_blocks and the signs") {
  CHECK(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n") == "a\nb\nc");
  CHECK(render("a  {%- if true -%}  b  {%- endif -%}  c") == "abc");
  CHECK(render("  {%+ if true %}x{% endif %}") == "  x");
  CHECK(render("  {{ 1 }}\n{{ 2 }}") == "  1\n2");
  CHECK(render("x {# note #}\ny") == "x y");
  CHECK(render("{% raw %}{{ a }}{% endraw %}") == "{{ a }}");
  CHECK(render("a\r\nb") == "a\nb");
}

TEST_CASE("operators bind and compute as in Python") {
  CHECK(
      render("{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 3 }}") ==
      "7 3 -4 2 3.5 8");
  CHECK(render("{{ 'a' ~ 1 ~ none ~ true }}") == "a1NoneTrue");
  CHECK(render("{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ not 1 in [1] }} {{ 2 not in [1] }}") ==
        "True False False True");
  CHECK(render("{{ 'x' * 3 }} {{ [1] + [2] }} {{ (1, ) }} {{ {'a': 'it\\'s'} }}") ==
        "xxx [1, 2] (1,) {'a': \"it's\"}");
  CHECK(render("{{ 'yes' if 0 else 'no' }}{{ 'gone' if 0 }}") == "no");
  CHECK(render("{{ 1.0 }} {{ 1e16 }} {{ 0.00001 }} {{ 1.5 }}") == "1.0 1e+16 1e-05 1.5");
  CHECK(render("{{ 9223372036854775807 + 1 }}").starts_with("ERROR"));
}

TEST_CASE("slices and indices count characters") {
  CHECK(render("{{ 'żółw'[1] }}{{ 'żółw'[-1] }} {{ 'żółw'[::-1] }} {{ 'żółw'[1:3] }}") ==
        "ów włóż ół");
  CHECK(render("{{ [1,2,3,4][1:] }} {{ [1,2,3][:-1] }} {{ [1,2,3,4][::2] }}") ==
        "[2, 3, 4] [1, 2] [1, 3]");
  CHECK(render("{{ [1][5] is defined }} {{ {'a': 1}['b'] is undefined }}") == "False True");
}

TEST_CASE("loops: variables, filters, else, break and continue") {
  CHECK(
      render("{% for x in 'abc' %}{{ loop.index }}{{ x }}{{ ',' if not loop.last }}{% endfor %}") ==
      "1a,2b,3c");
  CHECK(render("{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}") ==
        "a=1;b=2;");
  CHECK(render("{% for x in [1,2,3,4] if x % 2 == 0 %}{{ loop.index }}:{{ x }} {% endfor %}") ==
        "1:2 2:4 ");
  CHECK(render("{% for x in [] %}{% else %}none{% endfor %}") == "none");
  CHECK(render("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}"
               "{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}") == "02");
  CHECK(render("{% for x in [1,2] %}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}") == "21");
}

TEST_CASE("a loop's variables end with the turn, a namespace's do not") {
  CHECK(
      render("{% set x = 0 %}{% for i in [1,2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}") ==
      "120");
  CHECK(render("{% set n = namespace(x=0) %}{% for i in [1,2] %}{% set n.x = n.x + i %}"
               "{% endfor %}{{ n.x }}") == "3");
  CHECK(render("{% if true %}{% set y = 5 %}{% endif %}{{ y }}") == "5");
}

TEST_CASE("macros take defaults and names, see their surroundings, and give text") {
  CHECK(render("{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(b=3, a=4) }}") ==
        "1-2 4-3");
  CHECK(render(
            "{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}") ==
        "321");
  CHECK(render("{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{% endcall %}") ==
        "[x]");
  CHECK(render("{% set t %}a{{ 1 }}{% endset %}{{ t }}{% filter upper %}b{% endfilter %}") ==
        "a1B");
}

TEST_CASE("filters") {
  CHECK(render("{{ ' x ' | trim }}|{{ 'aXb' | lower | replace('x', '-') }}") == "x|a-b");
  CHECK(render("{{ [3,1,2] | sort | join(',') }} {{ {'b': 1, 'a': 2} | dictsort }}") ==
        "1,2,3 [('a', 2), ('b', 1)]");
  CHECK(render("{{ x | default('d') }}{{ '' | default('e', true) }}") == "de");
  CHECK(render("{{ l | selectattr('r', 'equalto', 'u') | map(attribute='c') | list }}",
               {{"l", {{{"r", "u"}, {"c", 1}}, {{"r", "s"}, {"c", 2}}}}}) == "[1]");
  CHECK(render("{{ '3' | int + 1 }} {{ 'x' | int }} {{ 2.5 | round }} {{ 3 | string | length }}") ==
        "4 0 2.0 1");
  CHECK(render("{{ '%s is %d' | format('a', 3) }} {{ '{}-{:.2f}'.format('b', 1.5) }}") ==
        "a is 3 b-1.50");
  CHECK(render("{{ '<' | safe + '<' }}") == "<&lt;");
  CHECK(render("{{ 1 | nonsense }}") == "ERROR chat template: line 1: No filter named 'nonsense'.");
}

TEST_CASE("tojson writes as Python's json.dumps without ASCII escapes") {
  const Json value = {{"z", "ü\n\""}, {"a", {1, 2.5, nullptr, true}}, {"e", Json::object()}};
  CHECK(render("{{ v | tojson }}", {{"v", value}}) ==
        R"({"z": "ü\n\"", "a": [1, 2.5, null, true], "e": {}})");
  CHECK(render("{{ {'a': [1], 'b': {}} | tojson(indent=2) }}") ==
        "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
  CHECK(render("{{ [1, 2] | tojson(separators=(',', ':')) }}") == "[1,2]");
}

TEST_CASE("what depends on more than the input, or makes HTML, is refused by name") {
  CHECK(render("{{ [1] | random }}").find("'random' is not supported") != std::string::npos);
  CHECK(render("{{ lipsum() }}").find("'lipsum' is not supported") != std::string::npos);
  CHECK(render("{{ 'x' | urlize }}").find("'urlize' is not supported") != std::string::npos);
  CHECK(render("{% autoescape true %}{% endautoescape %}").find("autoescape is not supported") !=
        std::string::npos);
  CHECK(render("{{ '&copy;' | striptags }}").find("&copy; is not supported") != std::string::npos);
}

TEST_CASE("a loop that holds itself ends with the rendering") {
  CHECK(render("{% set n = namespace() %}{% for x in [[2], [3]] recursive %}{{ x }}"
               "{% set n.l = loop %}{{ loop.changed(loop) }}{% endfor %}{{ n.l([5]) }}") ==
        "[2]True[3]False5True");
  CHECK(render("{% set n = namespace() %}{% for x in [1] %}{% set n.l = loop %}{% endfor %}"
               "{{ n.l.changed(n.l) }}")
            .find("after the loop's end") != std::string::npos);
  CHECK(render("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("ERROR") == 0);
  CHECK(render("{% set n = namespace() %}{% set n.c = cycler(n) %}{{ n.c.next().c.pos }}") == "0");
}

TEST_CASE("methods of strings and dicts") {
  CHECK(render("{{ 'a,b,c'.split(',')[-1] }}{{ ' a  b '.split() }}{{ 'a b c'.rsplit(' ', 1) }}") ==
        "c['a', 'b']['a b', 'c']");
  CHECK(render("{{ '\\n\\nx\\n'.lstrip('\\n') ~ '|' }}{{ 'xxay'.strip('xy') }}") == "x\n|a");
  CHECK(render("{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'c')) }}") == "TrueTrue");
  CHECK(render("{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b', 7) }}{{ {'a': 1}.get('c') }}") ==
        "17None");
  CHECK(render("{{ 'hello world'.title() }} {{ 'éa'.upper() }}") == "Hello World ÉA");
  CHECK(render("{{ {'items': 5}['items'] }}") == "5");
}

TEST_CASE("the time is the caller's, in UTC") {
  CHECK(render("{{ strftime_now('%d %b %Y %H:%M') }}") == "14 Mar 2026 15:09");
}

TEST_CASE("what a template raises reaches the caller with its line") {
  const auto out = try_render("a\n{{ raise_exception('roles must alternate') }}");
  REQUIRE(!out.ok());
  CHECK(out.error().code == Code::invalid_argument);
  CHECK(out.error().what == "chat template: line 2: roles must alternate");
}

TEST_CASE("errors name the line and the cause") {
  CHECK(render("x\n{% if %}") == "ERROR chat template: line 2: expected an expression, found '%}'");
  CHECK(render("\n{% for x in y %}") ==
        "ERROR chat template: line 2: the block that begins here is not closed with endfor");
  CHECK(render("{{ 'a }}") ==
        "ERROR chat template: line 1: the string that begins here is not closed");
  CHECK(render("{{ a.b }}") == "ERROR chat template: line 1: 'a' is undefined");
  CHECK(render("{{ 'a' + 1 }}") ==
        "ERROR chat template: line 1: can only concatenate str (not \"int\") to str");
  CHECK(render("{% include 'x' %}") ==
        "ERROR chat template: line 1: 'include' is not supported: a chat template stands alone");
  CHECK(render("{% if false %}{% include 'x' %}{% endif %}a") == "a");
  CHECK(render("{% do x %}").find("expected a statement") != std::string::npos);
  CHECK(render("{{ [].append(1) }}").find("unsafe") != std::string::npos);
  CHECK(render("\xff").find("not valid UTF-8") != std::string::npos);
  CHECK(render("{% break %}").find("outside of a loop") != std::string::npos);
}

TEST_CASE("hostile templates end with an error, not with the process") {
  const auto fails = [](const std::string& source, Code code) {
    const auto out = try_render(source);
    return !out.ok() && out.error().code == code;
  };
  CHECK(fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", Code::exhausted));
  CHECK(fails("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
              Code::exhausted));
  CHECK(fails("{{ 'x' * 999999999999 }}", Code::exhausted));
  CHECK(
      fails("{% set n = namespace(l=[1]) %}{% for i in range(9999) %}{% set n.l = [n.l, n.l] %}"
            "{% endfor %}",
            Code::invalid_argument));
  CHECK(
      fails("{% set n = namespace(s='xy') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}"
            "{% endfor %}",
            Code::exhausted));
  CHECK(fails(std::string(100000, '(').insert(0, "{{ "), Code::invalid_argument));
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) sum += "+1";
  CHECK(fails(sum + " }}", Code::invalid_argument));
  CHECK(fails("{{ range(999999999) | length }}", Code::invalid_argument));
}

TEST_CASE("a namespace and a macro may refer to each other") {
  CHECK(render("{% set n = namespace() %}{% set n.self = n %}{% macro m() %}{{ n.v }}{% endmacro %}"
               "{% set n.m = m %}{% set n.v = 3 %}{{ n.m() }}{{ n.self.self.v }}") == "33");
}

TEST_CASE("reasoning is copied to the names that templates use") {
  Json messages = {{{"role", "assistant"}, {"reasoning", "r"}}, {{"role", "user"}}};
  copy_reasoning(messages);
  CHECK(messages[0]["thinking"] == "r");
  CHECK(messages[0]["reasoning_content"] == "r");
  CHECK_FALSE(messages[1].contains("thinking"));
}
