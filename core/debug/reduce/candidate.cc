#include "core/debug/reduce/candidate.h"

#include <functional>
#include <string>

#include "core/base/checked.h"
#include "core/base/quick_hash.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/text/text.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {
namespace {

constexpr int64_t kManyBytes = int64_t{1} << 60;

}  // namespace

CandidateSize SizeOf(const Candidate& candidate) {
  const hlo::Module& module = *candidate.module;
  CandidateSize size;
  size.instructions = module.instructions().size();
  for (const hlo::Instruction& i : module.instructions()) {
    const auto bytes = module[i.shape].ByteSize();
    size.bytes = CheckedAdd(size.bytes, bytes.value_or(kManyBytes)).value_or(kManyBytes);
  }
  std::string text;
  hlo::PrintText(module, hlo::TextFormat::kElided, text);
  size.text = text.size();
  return size;
}

uint64_t FingerprintOf(const Candidate& candidate) {
  uint64_t hash = replay::StageFingerprint(*candidate.module);
  for (const hlo::Literal& argument : candidate.arguments) {
    for (const hlo::Literal& leaf : dump::FlattenLiteral(argument)) {
      const auto* data = reinterpret_cast<const char*>(leaf.bytes().data());
      hash = QuickMix(hash, std::hash<std::string_view>()({data, leaf.bytes().size()}));
    }
    hash = QuickMix(hash, IsUnknown(argument) ? 1 : 2);
  }
  return hash;
}

}  // namespace hloscope::debug
