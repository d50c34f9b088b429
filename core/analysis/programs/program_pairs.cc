// Pairing in rounds, from what is most alike to what is least, each round by a hash table.
#include "core/analysis/programs/program_pairs.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/base/quick_hash.h"
#include "core/hlo/string_pool.h"

namespace hloscope::analysis {
namespace {

enum Part : uint8_t { kFolder = 1, kId = 2, kName = 4, kProgram = 8 };
constexpr uint8_t kRounds[] = {kFolder | kId | kName | kProgram,
                               kId | kName | kProgram,
                               kName | kProgram,
                               kFolder | kId | kName,
                               kId | kName,
                               kName,
                               kProgram};

uint64_t KeyOf(const DumpProgram& program, uint8_t parts) {
  uint64_t key = parts;
  if ((parts & kFolder) != 0) key = MixKeys(key, hlo::HashBytes(program.folder));
  if ((parts & kId) != 0) key = MixKeys(key, static_cast<uint64_t>(program.id));
  if ((parts & kName) != 0) key = MixKeys(key, hlo::HashBytes(program.name));
  if ((parts & kProgram) == 0) return key;
  for (const StageProgram& stage : program.stages) {
    // What cannot be read is the same as nothing else.
    key = MixKeys(key,
                  stage.program ? stage.program->fingerprint.program : hlo::HashBytes(stage.file));
  }
  return key;
}

// Finds for each of `left` one of `groups` that has no member of the dump yet.
void PairRound(std::span<const DumpPrograms> dumps, size_t dump, uint8_t parts,
               std::vector<int32_t>& left, std::vector<ProgramGroup>& groups,
               std::vector<size_t>& open) {
  if (left.empty() || open.empty()) return;
  std::unordered_map<uint64_t, std::vector<size_t>> by_key;  // groups, the last one first
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    const auto& members = groups[*at].members;
    const size_t first = static_cast<size_t>(
        std::ranges::find_if(members, [](int32_t m) { return m >= 0; }) - members.begin());
    const DumpProgram& program = dumps[first].programs[static_cast<size_t>(members[first])];
    by_key[KeyOf(program, parts)].push_back(*at);
  }
  std::erase_if(left, [&](int32_t module) {
    const auto at = by_key.find(KeyOf(dumps[dump].programs[static_cast<size_t>(module)], parts));
    if (at == by_key.end() || at->second.empty()) return false;
    groups[at->second.back()].members[dump] = module;
    at->second.pop_back();
    return true;
  });
  std::erase_if(open, [&](size_t g) { return groups[g].members[dump] >= 0; });
}

}  // namespace

std::vector<ProgramGroup> PairPrograms(std::span<const DumpPrograms> dumps) {
  const auto has_one = [](const DumpPrograms& dump) { return dump.programs.size() == 1; };
  if (!dumps.empty() && std::ranges::all_of(dumps, has_one))
    return {{std::vector<int32_t>(dumps.size(), 0)}};
  std::vector<ProgramGroup> groups;
  for (size_t d = 0; d < dumps.size(); ++d) {
    std::vector<int32_t> left(dumps[d].programs.size());
    for (size_t m = 0; m < left.size(); ++m) left[m] = static_cast<int32_t>(m);
    std::vector<size_t> open(groups.size());
    for (size_t g = 0; g < open.size(); ++g) open[g] = g;
    for (const uint8_t parts : kRounds) PairRound(dumps, d, parts, left, groups, open);
    for (const int32_t module : left) {
      groups.push_back({std::vector<int32_t>(dumps.size(), -1)});
      groups.back().members[d] = module;
    }
  }
  return groups;
}

std::vector<StagePair> CommonStages(const DumpProgram& a, const DumpProgram& b) {
  std::vector<StagePair> pairs;
  for (const StageProgram& x : a.stages) {
    const bool by_phase =
        x.phase == dump::StagePhase::kInput || x.phase == dump::StagePhase::kFinal;
    const auto y = std::ranges::find_if(b.stages, [&](const StageProgram& stage) {
      return by_phase ? stage.phase == x.phase : stage.name == x.name;
    });
    if (y != b.stages.end()) pairs.push_back({&x, &*y});
  }
  return pairs;
}

ProgramVerdict CompareStage(const StagePair& pair) {
  if (!pair.a->program || !pair.b->program) return ProgramVerdict::kUnreadable;
  const ProgramFingerprint &a = pair.a->program->fingerprint, &b = pair.b->program->fingerprint;
  if (!IsSameProgram(a, b) || pair.a->other_texts != pair.b->other_texts)
    return ProgramVerdict::kDiffers;
  return a.elided > 0 ? ProgramVerdict::kElided : ProgramVerdict::kEqual;
}

ProgramVerdict ComparePrograms(const DumpProgram& a, const DumpProgram& b) {
  const std::vector<StagePair> pairs = CommonStages(a, b);
  if (pairs.empty()) return ProgramVerdict::kNoCommonStage;
  ProgramVerdict worst = ProgramVerdict::kEqual;
  for (const StagePair& pair : pairs) worst = std::max(worst, CompareStage(pair));
  return worst;
}

const ReadProgram* CompiledProgram(const DumpProgram& program) {
  const bool known = !program.stages.empty() && program.stages.back().program;
  return known ? &*program.stages.back().program : nullptr;
}

}  // namespace hloscope::analysis
