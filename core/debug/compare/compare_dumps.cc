// Groups are put into classes by fingerprints; one member of each class is compared with the first.
#include "core/debug/compare/compare_dumps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <tuple>

#include "core/analysis/align/compare_modules.h"
#include "core/analysis/align/metadata_difference.h"
#include "core/base/jobs.h"
#include "core/dump/load.h"

namespace hloscope::debug {
namespace {

using analysis::DumpProgram;
using analysis::DumpPrograms;
using analysis::ModuleComparison;
using analysis::ProgramGroup;
using analysis::ProgramVerdict;
using analysis::StagePair;

// What one class has against another.
struct ProgramResult {
  bool unreadable = false;
  std::vector<StageDifference> differences;
};
struct StageResult {
  bool equal = false, unreadable = false;
  int64_t elided = 0;
  StageDifference difference;
};

constexpr size_t kMaxMetadata = 20;  // modules of which other metadata is described

// "2 changed, 1 added, first add.3 in main: shape f32[8] became f32[9]".
std::string CountsText(const ModuleComparison& found) {
  std::string out;
  const auto add = [&](size_t count, const char* what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(found.changed.size(), "changed");
  add(found.added.size(), "added");
  add(found.removed.size(), "removed");
  return out;
}

std::string Joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "; "));
}

class DumpComparer {
 public:
  DumpComparer(const std::vector<DumpPrograms>& dumps, const Limits& limits)
      : dumps_(dumps), limits_(limits) {}

  ComparedModule Run(ProgramGroup group) const {
    ComparedModule out{.group = std::move(group), .classes = {}};
    std::vector<std::vector<int32_t>> classes;  // of dumps
    for (int32_t d = 0; d < std::ssize(dumps_); ++d) {
      if (out.group.members[static_cast<size_t>(d)] >= 0) Classify(d, out, classes);
    }
    std::ranges::stable_sort(classes, std::greater(), &std::vector<int32_t>::size);
    out.classes.push_back(ClassOf(out.group, std::move(classes.front())));
    for (size_t c = 1; c < classes.size(); ++c) {
      const std::vector<int32_t>& most = out.classes.front().dumps;
      ProgramResult found = Compare(At(out.group, most.front()), At(out.group, classes[c].front()));
      out.classes.push_back(ClassOf(out.group, std::move(classes[c])));
      out.classes.back().differences = std::move(found.differences);
      out.unreadable |= found.unreadable;
    }
    out.differs = out.classes.size() > 1;
    Measure(out);
    return out;
  }

  // Whether dumps have equal modules of other names or metadata; not what differs.
  std::optional<MetadataChange> FindMetadataChange(const ComparedModule& module) const {
    const std::vector<int32_t>& dumps = module.classes.front().dumps;
    for (const int32_t dump : std::span(dumps).subspan(1)) {
      for (const StagePair& pair :
           CommonStages(At(module.group, dumps.front()), At(module.group, dump))) {
        if (!HasOtherMetadata(pair)) continue;
        // A text has less than a proto: only the modules show whether what it has is the same.
        const bool is_known =
            pair.a->program->fingerprint.is_text == pair.b->program->fingerprint.is_text;
        return MetadataChange{module.group, dump, pair.b->name,
                              is_known ? "names or metadata differ" : ""};
      }
    }
    return std::nullopt;
  }
  void Describe(MetadataChange& change) const {
    const auto first = std::ranges::find_if(change.group.members, [](int32_t m) { return m >= 0; });
    const auto dump = static_cast<int32_t>(first - change.group.members.begin());
    for (const StagePair& pair :
         CommonStages(At(change.group, dump), At(change.group, change.dump))) {
      if (pair.b->name != change.stage) continue;
      const auto a = dump::LoadSoundModule(pair.a->file, limits_),
                 b = dump::LoadSoundModule(pair.b->file, limits_);
      if (a && b) change.what = analysis::MetadataDifference(*a->module, *b->module);
    }
  }

 private:
  const DumpProgram& At(const ProgramGroup& group, int32_t dump) const {
    const auto d = static_cast<size_t>(dump);
    return dumps_[d].programs[static_cast<size_t>(group.members[d])];
  }

  // Puts the module of a dump into the first class that it is equal to.
  void Classify(int32_t dump, ComparedModule& out,
                std::vector<std::vector<int32_t>>& classes) const {
    const DumpProgram& program = At(out.group, dump);
    for (auto& dumps : classes) {
      const DumpProgram& other = At(out.group, dumps.front());
      int64_t elided = 0;
      if (!IsEqual(other, program, elided)) continue;
      out.elided = std::max(out.elided, elided);
      dumps.push_back(dump);
      return;
    }
    classes.push_back({dump});
  }

  bool IsEqual(const DumpProgram& a, const DumpProgram& b, int64_t& elided) const {
    const std::vector<StagePair> pairs = CommonStages(a, b);
    if (pairs.empty()) return false;
    for (const StagePair& pair : pairs) {
      const ProgramVerdict verdict = CompareStage(pair);
      if (verdict == ProgramVerdict::kUnreadable) return false;
      const auto &of_a = pair.a->program->fingerprint, &of_b = pair.b->program->fingerprint;
      if (verdict == ProgramVerdict::kElided) elided += of_a.elided;
      if (verdict != ProgramVerdict::kDiffers) continue;
      if (pair.a->other_texts != pair.b->other_texts || CanCompare(of_a, of_b)) return false;
      // Only the modules show whether all else is equal.
      const StageResult found = CompareStages(pair);
      if (!found.equal) return false;
      elided += found.elided;
    }
    return true;
  }

  ProgramResult Compare(const DumpProgram& a, const DumpProgram& b) const {
    ProgramResult result;
    const std::vector<StagePair> pairs = CommonStages(a, b);
    if (pairs.empty()) {
      result.unreadable = true;
      result.differences.push_back({"", "no stage that both have", {}, {}});
    }
    for (const StagePair& pair : pairs) {
      if (CompareStage(pair) == ProgramVerdict::kEqual) continue;
      StageResult found = CompareStages(pair);
      result.unreadable |= found.unreadable;
      if (!found.equal) result.differences.push_back(std::move(found.difference));
      if (pair.a->other_texts != pair.b->other_texts) AddTexts(pair, result);
    }
    if (result.differences.empty()) {
      result.differences.push_back(
          {"", "the fingerprints differ, and no instruction does", {}, {}});
    }
    return result;
  }

  // Texts that are not those of the protos, of which the other dump has not the same.
  static void AddTexts(const StagePair& pair, ProgramResult& result) {
    for (const auto* stage : {pair.a, pair.b}) {
      for (const std::string& note : stage->notes)
        result.differences.push_back({stage->name, note, {}, {}});
    }
  }

  StageResult CompareStages(const StagePair& pair) const {
    StageResult result;
    result.difference.stage = pair.b->name;
    std::vector<std::string> problems;
    for (const auto* stage : {pair.a, pair.b}) {
      if (!stage->program) problems.push_back("cannot be read: " + stage->problem);
    }
    const auto a = dump::LoadSoundModule(pair.a->file, limits_),
               b = dump::LoadSoundModule(pair.b->file, limits_);
    for (const auto* side : {&a, &b}) {
      if (!*side && problems.empty())
        problems.push_back("cannot be read: " + side->error().ToString());
    }
    if (!problems.empty()) {
      result.unreadable = true;
      result.difference.what = Joined(problems);
      return result;
    }
    const ModuleComparison found = analysis::CompareModules(*a->module, *b->module);
    result.equal = found.equal;
    result.elided = found.elided;
    analysis::FirstChange first = FirstChangeOf(*a->module, *b->module, found);
    result.difference.what = fmt::format("{}, first {}", CountsText(found), first.what);
    result.difference.text_a = std::move(first.text_a);
    result.difference.text_b = std::move(first.text_b);
    return result;
  }

  // A stage of which a file of one class has other names or metadata than the first.
  static bool HasOtherMetadata(const StagePair& pair) {
    if (!pair.a->program || !pair.b->program) return false;
    const auto &a = pair.a->program->fingerprint, &b = pair.b->program->fingerprint;
    return a.names != b.names || a.metadata != b.metadata;
  }

  ProgramClass ClassOf(const ProgramGroup& group, std::vector<int32_t> dumps) const {
    const DumpProgram& program = At(group, dumps.front());
    ProgramClass out{.dumps = std::move(dumps), .fingerprint = {}, .differences = {}};
    if (const analysis::ReadProgram* compiled = CompiledProgram(program)) {
      out.fingerprint = ToString(compiled->fingerprint);
      out.instructions = compiled->instructions;
    }
    out.peak_bytes = program.peak_bytes;
    return out;
  }

  void Measure(ComparedModule& out) const {
    if (out.classes.size() < 2) return;
    const auto growth = [&](int64_t ProgramClass::* figure) {
      std::vector<const ProgramClass*> known;
      for (const ProgramClass& one : out.classes) {
        if (one.*figure >= 0) known.push_back(&one);
      }
      if (known.size() < 2) return int64_t{0};
      if (dumps_.size() == 2) return out.classes[1].*figure - out.classes[0].*figure;
      const auto [least, most] =
          std::ranges::minmax(known, {}, [&](const ProgramClass* one) { return one->*figure; });
      return most->*figure - least->*figure;
    };
    out.growth_of_peak = growth(&ProgramClass::peak_bytes);
    out.growth_of_instructions = growth(&ProgramClass::instructions);
  }

  const std::vector<DumpPrograms>& dumps_;
  const Limits& limits_;
};

std::vector<DumpNote> NotesOf(const std::vector<DumpPrograms>& dumps) {
  std::vector<DumpNote> notes;
  for (int32_t d = 0; d < std::ssize(dumps); ++d) {
    for (const DumpProgram& program : dumps[static_cast<size_t>(d)].programs) {
      if (!program.several_runs.empty()) notes.push_back({d, program.several_runs});
      for (const analysis::StageProgram& stage : program.stages) {
        for (const std::string& note : stage.notes) notes.push_back({d, note});
      }
    }
  }
  return notes;
}

}  // namespace

Result<DumpComparison> CompareDumps(std::vector<DumpPrograms> dumps, const Limits& limits, int jobs,
                                    const std::stop_token& stop) {
  DumpComparison out{
      .dumps = std::move(dumps), .modules = {}, .missing = {}, .metadata = {}, .notes = {}};
  std::vector<ProgramGroup> groups = analysis::PairPrograms(out.dumps);
  std::vector<ComparedModule> compared(groups.size());
  const DumpComparer dump_comparer(out.dumps, limits);
  const auto compare = [&](int64_t k) {
    const auto at = static_cast<size_t>(k);
    compared[at] = dump_comparer.Run(groups[at]);
  };
  HLOSCOPE_TRY(ParallelFor(std::ssize(groups), jobs, compare, stop));
  for (const ComparedModule& module : compared) {
    if (module.differs || module.elided > 0) continue;
    if (auto change = dump_comparer.FindMetadataChange(module))
      out.metadata.push_back(*std::move(change));
  }
  const auto describe = [&](int64_t k) {
    dump_comparer.Describe(out.metadata[static_cast<size_t>(k)]);
  };
  const auto described = static_cast<int64_t>(std::min(kMaxMetadata, out.metadata.size()));
  HLOSCOPE_TRY(ParallelFor(described, jobs, describe, stop));
  std::erase_if(out.metadata, [](const MetadataChange& change) { return change.what.empty(); });
  out.notes = NotesOf(out.dumps);
  for (ComparedModule& module : compared) {
    const bool in_all = std::ranges::find(module.group.members, -1) == module.group.members.end();
    if (!in_all) out.missing.push_back(module.group);
    out.differs |= module.differs || !in_all;
    out.unreadable |= module.unreadable;
    if (!module.differs) out.elided += module.elided;
    if (module.differs || module.elided > 0) {
      out.modules.push_back(std::move(module));
    } else if (in_all) {
      ++out.equal;
    }
  }
  std::ranges::stable_sort(out.modules, std::greater(), [](const ComparedModule& m) {
    return std::tuple(m.differs, m.growth_of_peak, m.growth_of_instructions);
  });
  return out;
}

std::string ToString(const StageDifference& difference) {
  return difference.stage.empty() ? difference.what : difference.stage + ": " + difference.what;
}

std::string DifferencesText(const ComparedModule& module) {
  std::string out;
  for (const ProgramClass& one : module.classes) {
    for (const StageDifference& difference : one.differences)
      out += (out.empty() ? "" : "; ") + ToString(difference);
  }
  return out;
}

}  // namespace hloscope::debug
