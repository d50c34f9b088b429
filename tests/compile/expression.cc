// Writing a module as an expression.
#include "tests/compile/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/compile/passes/pass.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::ValueKind;

std::string OfInstruction(const Module& module, InstructionId id) {
  const hlo::Instruction& i = module[id];
  if (i.opcode == hlo::Opcode::kParameter) return std::string(module.name(id));
  std::string text(ToString(i.opcode));
  for (const hlo::Attribute& a : module.attributes(i)) {
    if (a.key == hlo::AttributeKey::kConstantValue) {
      std::string value;
      hlo::PrintText(module, id, hlo::TextFormat::kShort, value);
      const size_t begin = value.find("constant(") + 9;
      return value.substr(begin, value.find(')', begin) - begin);
    }
    const ValueKind kind = Info(a.key).kind;
    if (kind == ValueKind::kInts || kind == ValueKind::kPadding || kind == ValueKind::kSlices) {
      text += fmt::format("{{{}}}", fmt::join(module.IntsOf(a), ","));
    }
    if (a.key == hlo::AttributeKey::kIndex) text += fmt::format("{{{}}}", module.IntOf(a));
    if (a.key == hlo::AttributeKey::kDirection) {
      text += fmt::format("{{{}}}", EnumText(a.key, a.value));
    }
  }
  if (i.opcode == hlo::Opcode::kConvert) text += " " + hlo::ToString(module.shape(id), false);
  std::vector<std::string> operands;
  for (const InstructionId operand : module.operands(id)) {
    operands.push_back(OfInstruction(module, operand));
  }
  return text + fmt::format("({})", fmt::join(operands, ", "));
}

}  // namespace

std::string Expression(const Module& module) { return OfInstruction(module, module.entry().root); }

std::shared_ptr<const Module> AfterPass(std::string_view pass,
                                        const std::shared_ptr<const Module>& module) {
  const auto row = std::ranges::find(kPasses, pass, &PassRow::name);
  Compilation compilation;
  const Result<PassResult> result = row->run(module, compilation);
  EXPECT_TRUE(result.has_value());
  if (!result || result->module == nullptr) return module;
  for (const hlo::Diagnostic& d : hlo::Verify(*result->module)) {
    EXPECT_NE(d.severity, hlo::Severity::kError) << d.message << " behind " << pass;
  }
  return result->module;
}

std::shared_ptr<const Module> AfterPass(std::string_view pass, std::string_view text) {
  SCOPED_TRACE(text);
  return AfterPass(pass, hlo::Parsed(text));
}

}  // namespace hloscope::compile
