// The modules of tests/nan_origin: in each a NaN or an infinity is born in a known instruction.
//
// Lines before the module:
//   // FIND: nan                 or inf
//   // FIRST: quotient           the instruction that makes the first one
//   // AT: {2}                   the index of the element
//   // VIA: outer@2 fused        who calls it, outermost first; @N is the iteration of a loop
//   // OPERANDS: 0, 0            what it was made of
//   // INFINITY: quotient        what made the infinity that a NaN was made from
//   // REACHES: yes              or no: whether an output holds one
//   // INPUT: {1, nan}           one line per parameter
//   // ARRIVAL: text             a warning there must be
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/debug/run/run_module.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/platform.h"
#include "tests/base/paths.h"

namespace hloscope::debug {
namespace {

using Directives = std::multimap<std::string, std::string>;

Directives ReadDirectives(const std::string& text) {
  Directives directives;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with("// ");) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) {
      directives.emplace(line.substr(3, colon - 3), line.substr(colon + 2));
    }
  }
  return directives;
}

std::string One(const Directives& directives, const std::string& key) {
  const auto it = directives.find(key);
  return it == directives.end() ? "" : it->second;
}

std::string Joined(const auto& items, std::string_view separator, auto&& text) {
  std::string joined;
  for (const auto& item : items) {
    if (!joined.empty()) joined += separator;
    joined += text(item);
  }
  return joined;
}

std::string ViaText(const NonFinite& found) {
  return Joined(found.path, " ", [](const PathStep& step) {
    return step.instruction + (step.iteration ? "@" + std::to_string(*step.iteration) : "");
  });
}

RunSpec RequestFor(const Directives& directives, const hlo::Module& module) {
  RunSpec request;
  request.compare.find =
      One(directives, "FIND") == "nan" ? NonFiniteKind::kNan : NonFiniteKind::kInfinity;
  const auto shapes = replay::ParameterShapes(module);
  const auto [begin, end] = directives.equal_range("INPUT");
  for (auto it = begin; it != end; ++it) {
    hlo::TextCursor cursor(it->second);
    auto literal = hlo::ReadLiteral(cursor, shapes.at(request.inputs.arguments.size()), {});
    EXPECT_TRUE(literal.has_value()) << it->second;
    if (literal.has_value()) request.inputs.arguments.push_back(*literal);
  }
  return request;
}

void Check(const std::filesystem::path& path) {
  SCOPED_TRACE(path.filename().string());
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Directives directives = ReadDirectives(text);
  const hlo::ParseResult parsed = hlo::ParseText(text);
  ASSERT_TRUE(parsed.ok());
  const RunReport report = RunModule(parsed.module, RequestFor(directives, *parsed.module));
  ASSERT_FALSE(report.error.has_value()) << report.error->ToString();
  ASSERT_TRUE(report.first_nonfinite.has_value());
  const NonFinite& found = *report.first_nonfinite;
  EXPECT_EQ(found.instruction, One(directives, "FIRST"));
  EXPECT_EQ("{" + Joined(found.index, ",", [](int64_t i) { return std::to_string(i); }) + "}",
            One(directives, "AT"));
  EXPECT_EQ(ViaText(found), One(directives, "VIA"));
  EXPECT_EQ(found.reaches_output, One(directives, "REACHES") == "yes");
  if (directives.contains("OPERANDS")) {
    EXPECT_EQ(Joined(found.operands, ", ",
                     [](const OperandReport& operand) { return operand.value.value_or("?"); }),
              One(directives, "OPERANDS"));
  }
  if (directives.contains("INFINITY")) {
    EXPECT_EQ(found.infinity_from.value_or("none"), One(directives, "INFINITY"));
  }
  if (directives.contains("ARRIVAL")) {
    EXPECT_NE(std::ranges::find(report.warnings, One(directives, "ARRIVAL")),
              report.warnings.end());
  }
}

TEST(FindNonFinite, EveryOriginIsNamed) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/nan_origin"))) {
    if (entry.path().extension() == ".hlo") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  EXPECT_GE(paths.size(), 20u);
  for (const auto& path : paths) Check(path);
}

// A constant that nothing selects is a warning, no finding.
TEST(FindNonFinite, NothingWhereEveryResultIsFinite) {
  const auto parsed = hlo::ParseText(
      "HloModule m\nENTRY e {\n  a = f32[2] constant({1, 2})\n  p = pred[2] constant({1, 1})\n"
      "  n = f32[2] constant({nan, inf})\n  s = f32[2] select(p, a, n)\n"
      "  ROOT b = f32[2] log(s)\n}\n");
  ASSERT_TRUE(parsed.ok());
  for (NonFiniteKind kind : {NonFiniteKind::kNan, NonFiniteKind::kInfinity}) {
    RunSpec request;
    request.compare.find = kind;
    const RunReport report = RunModule(parsed.module, request);
    EXPECT_FALSE(report.first_nonfinite.has_value());
    EXPECT_EQ(report.warnings.size(), 1u);
  }
}

}  // namespace
}  // namespace hloscope::debug
