// Groups are put into classes by fingerprints; one member of each class is compared with the first.
#include "core/debug/compare/compare_dumps.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/base/counted.h"
#include "core/base/jobs.h"
#include "core/debug/compare/compare_modules.h"
#include "core/dump/load.h"

namespace hloscope::debug {
namespace {

using analysis::DumpProgram;
using analysis::DumpPrograms;
using analysis::ProgramGroup;
using analysis::ProgramVerdict;
using analysis::StagePair;

// What one class has against another.
struct StageResult {
  bool equal = true, unreadable = false;
  int64_t elided = 0;
  std::string what;
};

void Add(StageResult& result, const std::string& text) {
  result.what += (result.what.empty() ? "" : "; ") + text;
}

// "2 changed, 1 added; first add.3: shape f32[8] became f32[9]".
std::string DescribeChanges(const ModuleComparison& found) {
  std::string out;
  const auto add = [&](size_t count, const char* what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(found.changed.size(), "changed");
  add(found.added.size(), "added");
  add(found.removed.size(), "removed");
  const auto first = [&](const std::string& computation, const std::string& instruction,
                         const std::string& what) {
    const std::string& name = instruction.empty() ? computation : instruction;
    out += fmt::format(", first {}{}{}", name, name.empty() || what.empty() ? "" : ": ", what);
  };
  if (!found.changed.empty()) {
    const InstructionChange& c = found.changed.front();
    first(c.computation, c.instruction, c.what);
  } else if (!found.added.empty()) {
    first(found.added.front().computation, found.added.front().instruction, "");
  } else if (!found.removed.empty()) {
    first(found.removed.front().computation, found.removed.front().instruction, "");
  }
  return out;
}

class DumpComparer {
 public:
  DumpComparer(const std::vector<DumpPrograms>& dumps, const Limits& limits)
      : dumps_(dumps), limits_(limits) {}

  ComparedModule Run(ProgramGroup group) const {
    ComparedModule out{.group = std::move(group), .classes = {}, .what = {}};
    std::vector<std::vector<int32_t>> classes;  // of dumps
    for (int32_t d = 0; d < std::ssize(dumps_); ++d) {
      if (out.group.members[static_cast<size_t>(d)] >= 0) Classify(d, out, classes);
    }
    std::ranges::stable_sort(classes, std::greater(), &std::vector<int32_t>::size);
    out.classes.push_back(ClassOf(out.group, std::move(classes.front())));
    for (size_t c = 1; c < classes.size(); ++c) {
      const std::vector<int32_t>& most = out.classes.front().dumps;
      const StageResult found =
          Compare(At(out.group, most.front()), At(out.group, classes[c].front()));
      out.classes.push_back(ClassOf(out.group, std::move(classes[c])));
      out.unreadable |= found.unreadable;
      out.what += (out.what.empty() ? "" : "; ") + found.what;
    }
    out.differs = out.classes.size() > 1;
    Measure(out);
    return out;
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
      if (CanCompare(of_a, of_b)) return false;
      // Only the modules show whether all else is equal.
      const StageResult found = CompareStages(pair);
      if (!found.equal) return false;
      elided += found.elided;
    }
    return true;
  }

  StageResult Compare(const DumpProgram& a, const DumpProgram& b) const {
    StageResult result;
    const std::vector<StagePair> pairs = CommonStages(a, b);
    if (pairs.empty()) {
      result.unreadable = true;
      result.what = "no stage that both have";
    }
    for (const StagePair& pair : pairs) {
      if (CompareStage(pair) == ProgramVerdict::kEqual) continue;
      const StageResult found = CompareStages(pair);
      result.unreadable |= found.unreadable;
      if (!found.equal) Add(result, pair.b->name + ": " + found.what);
    }
    if (result.what.empty()) result.what = "the fingerprints differ, and no instruction does";
    return result;
  }

  StageResult CompareStages(const StagePair& pair) const {
    StageResult result;
    for (const auto* stage : {pair.a, pair.b}) {
      if (!stage->program) Add(result, "cannot be read: " + stage->problem);
    }
    const auto a = dump::LoadSoundModule(pair.a->file, limits_),
               b = dump::LoadSoundModule(pair.b->file, limits_);
    for (const auto* side : {&a, &b}) {
      if (!*side && result.what.empty()) Add(result, "cannot be read: " + side->error().ToString());
    }
    if (!result.what.empty()) {
      result.equal = false;
      result.unreadable = true;
      return result;
    }
    const ModuleComparison found = CompareModules(*a->module, *b->module);
    result.equal = found.equal;
    result.elided = found.elided;
    result.what = DescribeChanges(found);
    return result;
  }

  ProgramClass ClassOf(const ProgramGroup& group, std::vector<int32_t> dumps) const {
    const DumpProgram& program = At(group, dumps.front());
    ProgramClass out{.dumps = std::move(dumps), .fingerprint = {}};
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

}  // namespace

Result<DumpComparison> CompareDumps(std::vector<DumpPrograms> dumps, const Limits& limits, int jobs,
                                    const std::stop_token& stop) {
  DumpComparison out{.dumps = std::move(dumps), .modules = {}, .missing = {}};
  std::vector<ProgramGroup> groups = analysis::PairPrograms(out.dumps);
  std::vector<ComparedModule> compared(groups.size());
  const DumpComparer dump_comparer(out.dumps, limits);
  const auto compare = [&](int64_t k) {
    const auto at = static_cast<size_t>(k);
    compared[at] = dump_comparer.Run(groups[at]);
  };
  HLOSCOPE_TRY(ParallelFor(std::ssize(groups), jobs, compare, stop));
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

}  // namespace hloscope::debug
