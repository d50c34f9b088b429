// The hash of the header's facts, the entry computation, and all computations in any order.
#include "core/analysis/align/program_fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/analysis/align/fingerprint.h"
#include "core/analysis/align/metadata_difference.h"
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

// Names and metadata, in any order of instructions.
class AnnotationHasher {
 public:
  AnnotationHasher(const Module& module, const Fingerprints& prints)
      : module_(module), prints_(prints), unused_(UnusedElements(module)) {}

  void Run(ProgramFingerprint& out) {
    out.names = hlo::HashBytes(module_.name());
    for (uint32_t c = 0; c < module_.computations().size(); ++c)
      out.names += Named(prints_.computations[c], module_[module_.computations()[c].name]);
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      if (unused_[k]) continue;
      out.names += Named(prints_.full[k], module_.name(hlo::InstructionId(k)));
      if (const uint64_t metadata = MetadataOf(hlo::InstructionId(k)))
        out.metadata += MixKeys(prints_.full[k], metadata);
    }
  }

 private:
  static uint64_t Named(uint64_t print, std::string_view name) {
    return MixKeys(print, hlo::HashBytes(name));
  }

  // Many instructions have the same.
  uint64_t MetadataOf(hlo::InstructionId id) {
    uint64_t values = 0;
    for (const hlo::AttributeKey key :
         {hlo::AttributeKey::kMetadata, hlo::AttributeKey::kStatistics,
          hlo::AttributeKey::kOrigin}) {
      const hlo::Attribute* const attribute = module_.Find(id, key);
      if (attribute != nullptr)
        values = MixKeys(MixKeys(values, attribute->value), static_cast<uint64_t>(key));
    }
    if (values == 0) return 0;
    const auto [known, is_new] = known_.try_emplace(values);
    if (is_new) {
      for (const auto& [name, text] : MetadataFields(module_, id))
        known->second = MixKeys(MixKeys(known->second, hlo::HashBytes(name)), hlo::HashBytes(text));
    }
    return known->second;
  }

  const Module& module_;
  const Fingerprints& prints_;
  std::vector<bool> unused_;
  std::unordered_map<uint64_t, uint64_t> known_;
};

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
  AnnotationHasher(module, prints).Run(out);
  for (size_t k = 0; k < module.instructions().size(); ++k) {
    const auto* literal =
        module.Get<hlo::Literal>(module.instructions()[k], hlo::AttributeKey::kConstantValue);
    if (literal == nullptr) continue;
    out.elided += literal->elided() ? 1 : 0;
    if (literal->elided() || out.is_text) continue;
    if (FlushDenormals(*literal) == *literal) continue;
    out.lost_in_text += MixKeys(prints.full[k], LiteralHash(*literal, /*exact=*/true)) | 1;
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
