// The hash of the header's facts, the entry computation, and all computations in any order.
#include "core/analysis/align/program_fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/analysis/align/fingerprint.h"
#include "core/analysis/denormals.h"
#include "core/base/quick_hash.h"
#include "core/hlo/literal.h"
#include "core/hlo/string_pool.h"

namespace hloscope::analysis {
namespace {

using hlo::Module;

// The entry computation's program shape with layouts, from the header or from the computation.
std::string LayoutText(const Module& m) {
  std::string out;
  const auto add = [&](const hlo::Shape& shape) {
    out += hlo::ToString(shape.WithDefaultLayouts()) + ";";
  };
  if (const auto& layout = m.header().entry_layout) {
    for (const hlo::ShapeId id : layout->parameters) add(m[id]);
    add(m[layout->result]);
    return out;
  }
  for (const hlo::InstructionId id : m.Parameters(m.entry_id())) {
    if (id.valid()) add(m.shape(id));
  }
  add(m.shape(m.entry().root));
  return out;
}

std::string Joined(std::vector<std::string> entries) {
  std::ranges::sort(entries);
  return fmt::format("{}", fmt::join(entries, ";"));
}

std::string AliasText(const hlo::ModuleHeader& header) {
  std::vector<std::string> entries;
  for (const hlo::InputOutputAlias& a : header.input_output_alias) {
    entries.push_back(
        fmt::format("{}:{},{},{}", a.output_index, a.parameter, a.parameter_index, a.must_alias));
  }
  return Joined(std::move(entries));
}

std::string DonorText(const hlo::ModuleHeader& header) {
  std::vector<std::string> entries;
  for (const hlo::BufferDonor& d : header.buffer_donors)
    entries.push_back(fmt::format("{},{}", d.parameter, d.parameter_index));
  return Joined(std::move(entries));
}

uint64_t ExactHash(const hlo::Literal& literal) {
  uint64_t h = 1;
  for (const hlo::Literal& element : literal.elements()) h = MixKeys(h, ExactHash(element));
  const auto bytes = literal.bytes();
  return MixKeys(h, hlo::HashBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

}  // namespace

std::vector<HeaderFact> HeaderFacts(const Module& module) {
  const hlo::ModuleHeader& header = module.header();
  return {{"is_scheduled", header.is_scheduled ? "true" : "false"},
          {"replica_count", fmt::format("{}", header.replica_count)},
          {"num_partitions", fmt::format("{}", header.num_partitions)},
          {"input_output_alias", AliasText(header)},
          {"buffer_donor", DonorText(header)},
          {"entry_computation_layout", LayoutText(module)}};
}

ProgramFingerprint FingerprintProgram(const Module& module) {
  const Fingerprints prints = Fingerprint(module, {.constants = ConstantValues::kAll});
  ProgramFingerprint out{.is_text = module.proto_instruction_ids().empty(),
                         .has_compact_operands = HasCompactOperands(module)};
  for (const HeaderFact& fact : HeaderFacts(module))
    out.program = MixKeys(out.program, hlo::HashBytes(fact.text));
  uint64_t all = 0;
  for (const uint64_t computation : prints.computations) all += MixKeys(computation, 3);
  out.program = MixKeys(MixKeys(out.program, all), prints.computations[module.entry_id().index]);
  for (size_t k = 0; k < module.instructions().size(); ++k) {
    const auto* literal =
        module.Get<hlo::Literal>(module.instructions()[k], hlo::AttributeKey::kConstantValue);
    if (literal == nullptr) continue;
    out.elided += literal->elided() ? 1 : 0;
    if (literal->elided() || out.is_text) continue;
    if (FlushDenormals(*literal, ZeroSign::kDropped) == *literal) continue;
    out.lost_in_text += MixKeys(prints.full[k], ExactHash(*literal)) | 1;
  }
  return out;
}

bool CanCompare(const ProgramFingerprint& a, const ProgramFingerprint& b) {
  return a.elided == 0 && b.elided == 0 && a.has_compact_operands == b.has_compact_operands;
}

bool IsSameProgram(const ProgramFingerprint& a, const ProgramFingerprint& b) {
  return a.program == b.program && a.elided == b.elided &&
         (a.is_text || b.is_text || a.lost_in_text == b.lost_in_text);
}

std::string ToString(const ProgramFingerprint& fingerprint) {
  return fmt::format("{:016x}", fingerprint.program);
}

}  // namespace hloscope::analysis
