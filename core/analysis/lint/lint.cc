// The rules of the table over one module.
#include "core/analysis/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/analysis/lint/lint_module.h"
#include "core/dump/readers/line_reader.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::analysis {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

constexpr LintRule kRules[] = {
#define LINT_RULE(kind, name, severity, stage, pattern, fix) \
  {LintKind::kind, name, LintSeverity::severity, LintStage::stage, pattern, fix},
#include "core/analysis/lint/lint_rules.def"
#undef LINT_RULE
};

std::vector<LintPlace> Places(LintKind kind, const LintModule& module) {
  switch (kind) {
#define LINT_RULE(kind, ...) \
  case LintKind::kind:       \
    return FindPlaces<LintKind::kind>(module);
#include "core/analysis/lint/lint_rules.def"
#undef LINT_RULE
  }
  return {};
}

// Of the instruction, or of what is in it.
std::string SourceOf(const LintModule& module, InstructionId id) {
  std::string source = hlo::ToString(hlo::SourceLineOf(module.m, id));
  if (!source.empty()) return source;
  source = hlo::ToString(hlo::SourceLineOf(module.m, module.Root(id)));
  if (!source.empty() || module.m[id].operand_count == 0) return source;
  return hlo::ToString(hlo::SourceLineOf(module.m, module.m.operands(id)[0]));
}

}  // namespace

std::string_view ToString(LintSeverity severity) {
  constexpr std::string_view kNames[] = {"info", "warning", "error"};
  return kNames[static_cast<size_t>(severity)];
}

std::optional<LintSeverity> LintSeverityNamed(std::string_view name) {
  for (const auto severity : {LintSeverity::kInfo, LintSeverity::kWarning, LintSeverity::kError}) {
    if (name == ToString(severity)) return severity;
  }
  return std::nullopt;
}

std::span<const LintRule> LintRules() { return kRules; }
const LintRule& RuleOf(LintKind kind) { return kRules[static_cast<size_t>(kind)]; }

std::string_view FixOf(const LintFinding& finding) {
  return finding.own_fix.empty() ? RuleOf(finding.kind).fix : finding.own_fix;
}

std::string SizeText(int64_t bytes) {
  if (bytes < 1 << 10) return fmt::format("{} B", bytes);
  const double kib = static_cast<double>(bytes) / (1 << 10);
  return bytes < 1 << 20 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

LintModule::LintModule(const hlo::Module& module, const hlo::Module* compiled_module)
    : m(module),
      compiled(compiled_module),
      users(hlo::UsersOf(module)),
      calls(hlo::CallGraphOf(module)),
      launched_(module.computations().size()),
      in_loop_(module.computations().size()) {
  launched_[m.entry_id().index] = true;
  for (const ComputationId c : calls.callers_first()) {
    for (const hlo::Call& call : calls.calls(c)) {
      const Opcode opcode = m[call.caller].opcode;
      const bool runs = opcode == Opcode::kWhile || opcode == Opcode::kCall ||
                        opcode == Opcode::kConditional || opcode == Opcode::kAsyncStart;
      if (runs && launched_[c.index]) launched_[call.callee.index] = true;
      if (opcode == Opcode::kWhile || in_loop_[c.index]) in_loop_[call.callee.index] = true;
    }
  }
  for (const hlo::Instruction& i : m.instructions()) {
    const auto* config = m.Get<hlo::BackendConfig>(i, hlo::AttributeKey::kBackendConfig);
    const std::string_view target = m.GetString(i, hlo::AttributeKey::kCustomCallTarget);
    on_gpu_ = on_gpu_ || target.starts_with("__cublas") || target.starts_with("__cudnn") ||
              (config != nullptr &&
               m[config->text].find("fusion_backend_config") != std::string_view::npos);
  }
}

ComputationId LintModule::Body(InstructionId id) const {
  return Is(id, Opcode::kFusion) ? m.GetComputation(m[id], hlo::AttributeKey::kCalls)
                                 : ComputationId();
}

InstructionId LintModule::Root(InstructionId id) const {
  const ComputationId body = Body(id);
  return body.valid() ? m[body].root : id;
}

InstructionId LintModule::ThroughBitcasts(InstructionId id) const {
  for (int k = 0; k < kMaxChain && Is(id, Opcode::kBitcast) && m[id].operand_count == 1; ++k)
    id = m.operands(id)[0];
  return id;
}

bool IsCompiled(const hlo::Module& module) {
  return module.header().is_scheduled ||
         std::ranges::any_of(module.instructions(),
                             [](const hlo::Instruction& i) { return i.opcode == Opcode::kFusion; });
}

std::vector<LintFinding> Lint(const hlo::Module& module, const hlo::Module* compiled) {
  const LintModule facts(module, compiled);
  const bool is_compiled = IsCompiled(module);
  std::vector<LintFinding> out;
  for (const LintRule& rule : kRules) {
    const bool fits = rule.stage == LintStage::kEither
                          ? is_compiled || compiled == nullptr
                          : (rule.stage == LintStage::kCompiled) == is_compiled;
    if (!fits) continue;
    const size_t first = out.size();
    std::map<std::string, size_t> by_source;
    for (LintPlace& place : Places(rule.kind, facts)) {
      LintFinding finding{.kind = rule.kind,
                          .instruction = std::string(module.name(place.id)),
                          .source = SourceOf(facts, place.id),
                          .cost = std::move(place.cost),
                          .cost_bytes = place.bytes,
                          .own_fix = std::move(place.fix)};
      const std::string key = finding.source.empty() ? "\n" + finding.instruction : finding.source;
      const auto [at, is_new] = by_source.try_emplace(key, out.size());
      if (is_new) {
        out.push_back(std::move(finding));
        continue;
      }
      LintFinding& known = out[at->second];
      ++known.places;
      if (known.own_fix != finding.own_fix) known.own_fix.clear();
      known.cost_bytes += finding.cost_bytes;
    }
    std::stable_sort(
        out.begin() + static_cast<ptrdiff_t>(first), out.end(),
        [](const LintFinding& a, const LintFinding& b) { return a.cost_bytes > b.cost_bytes; });
  }
  return out;
}

std::vector<LintFinding> LintLog(std::string_view log) {
  std::vector<LintFinding> out;
  dump::LineReader lines(log);
  for (std::string_view line; lines.Next(line);) {
    constexpr std::string_view kText = "Some donated buffers were not usable: ";
    const size_t at = line.find(kText);
    // The line of the source that warns is quoted after the warning.
    if (at == line.npos || line.find("warnings.warn(") != line.npos) continue;
    std::string_view types = line.substr(at + kText.size());
    if (types.ends_with('.')) types.remove_suffix(1);
    out.push_back({.kind = LintKind::kDonation,
                   .cost = fmt::format("JAX left the donation of {} out: line {} of the log", types,
                                       lines.number())});
  }
  return out;
}

}  // namespace hloscope::analysis
