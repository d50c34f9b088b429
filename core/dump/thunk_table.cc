// Tying thunks to instructions: by metadata, by the name of their kernel, by their order.
#include "core/dump/thunk_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_set>

#include "core/dump/instruction_lookup.h"
#include "core/dump/listing/word_list.h"
#include "core/dump/readers/thunk_reader.h"

namespace hloscope::dump {
namespace {

class ThunkTable {
 public:
  ThunkTable(const DumpModel& model, int32_t module) : model_(model), module_(module) {}

  std::shared_ptr<const ThunkSequence> Make() {
    ReadFiles();
    if (sequence_->thunks.empty() && sequence_->after_passes.empty()) return sequence_;
    ReadMetadata();
    CheckComplete();
    if (auto lookup = model_.Lookup(module_)) lookup_ = *std::move(lookup);
    for (auto* thunks : {&sequence_->thunks, &sequence_->after_passes}) {
      for (Thunk& thunk : *thunks) TieByMetadata(thunk);
      for (Thunk& thunk : *thunks) TieByKernel(thunk);
      TieByOrder(*thunks);
    }
    return sequence_;
  }

 private:
  void ReadFiles() {
    for (int32_t k : model_.modules()[static_cast<size_t>(module_)].files) {
      const FileEntry& file = model_.files()[static_cast<size_t>(k)];
      if (file.role != FileRole::kThunkSequence) continue;
      std::vector<std::string> problems;
      bool after = file.path.find("after_thunk_passes") != std::string::npos;
      auto thunks = model_.ReadFile(k, [&](std::string_view text) {
        return ReadThunkSequence(text, model_.limits(), problems);
      });
      if (!thunks) {
        sequence_->warnings.push_back(thunks.error().ToString());
        continue;
      }
      for (const std::string& problem : problems)
        sequence_->warnings.push_back(fmt::format("{}: {}", file.path, problem));
      (after ? sequence_->after_passes : sequence_->thunks) = *std::move(thunks);
      (after ? sequence_->after_passes_file : sequence_->file) = k;
    }
  }

  void ReadMetadata() {
    for (int32_t k : model_.modules()[static_cast<size_t>(module_)].files) {
      const FileEntry& file = model_.files()[static_cast<size_t>(k)];
      if (file.role != FileRole::kThunkMetadata) continue;
      std::vector<std::string> problems;
      bool is_text = BareFileName(file.path).ends_with(".txt");
      auto entries = model_.ReadFile(
          k, [&](std::string_view bytes) { return ReadThunkMetadata(bytes, is_text, problems); });
      if (!entries) {
        sequence_->warnings.push_back(entries.error().ToString());
        continue;
      }
      for (ThunkMetadata& entry : *entries) {
        if (!entry.instruction.empty())
          metadata_.try_emplace({entry.id, entry.kind}, std::move(entry.instruction));
      }
      for (const std::string& problem : problems)
        sequence_->warnings.push_back(fmt::format("{}: {}", file.path, problem));
    }
  }

  // The metadata list every thunk: one that the sequence lacks was cut off.
  void CheckComplete() {
    std::unordered_set<int64_t> ids = {0};
    for (const auto* thunks : {&sequence_->thunks, &sequence_->after_passes}) {
      for (const Thunk& thunk : *thunks) ids.insert(thunk.id);
    }
    for (const auto& [key, instruction] : metadata_) {
      if (ids.contains(key.first)) continue;
      sequence_->warnings.push_back(fmt::format(
          "{}: truncated, thunk {} of the metadata is missing",
          model_.files()[static_cast<size_t>(std::max(sequence_->file, 0))].path, key.first));
      return;
    }
  }

  void TieByMetadata(Thunk& thunk) {
    auto found = metadata_.find({thunk.id, thunk.kind});
    if (found == metadata_.end()) return;
    std::string_view name = found->second;
    if (lookup_ && !lookup_->ByName(name).valid()) return;
    thunk.instruction = name;
    thunk.tied_by_metadata = true;
  }

  void TieByKernel(Thunk& thunk) {
    if (!thunk.instruction.empty() || thunk.kernel.empty() || !lookup_) return;
    auto found = lookup_->ByKernelName(thunk.kernel);
    if (found.empty()) found = lookup_->ByTarget(thunk.kernel);
    if (!found.empty()) thunk.instruction = lookup_->module().name(found.front());
  }

  bool MayRun(const ThunkKindRow& row, hlo::InstructionId id) const {
    const hlo::Module& m = lookup_->module();
    std::string_view opcode = hlo::ToString(m[id].opcode);
    if (ListHolds(row.instructions, opcode)) return true;
    return m[id].opcode == hlo::Opcode::kCustomCall &&
           AnyWord(row.instructions, [&](std::string_view start) {
             return m.GetString(m[id], hlo::AttributeKey::kCustomCallTarget).starts_with(start);
           });
  }

  // Where as many instructions of a kind are left as thunks, they follow one another alike.
  void TieByOrder(std::vector<Thunk>& thunks) {
    if (!lookup_) return;
    std::map<std::string, std::vector<Thunk*>> left;
    std::map<std::string, std::unordered_set<std::string_view>> taken;
    for (Thunk& thunk : thunks) {
      if (thunk.instruction.empty()) {
        left[thunk.kind].push_back(&thunk);
      } else {
        taken[thunk.kind].insert(thunk.instruction);
      }
    }
    for (auto& [kind, list] : left) {
      ThunkKindRow row = ThunkKindOf(kind);
      std::vector<hlo::InstructionId> candidates;
      for (hlo::InstructionId id : lookup_->program()) {
        bool is_taken = taken[kind].contains(lookup_->module().name(id));
        if (!is_taken && MayRun(row, id)) candidates.push_back(id);
      }
      if (candidates.size() != list.size()) continue;
      for (size_t k = 0; k < list.size(); ++k)
        list[k]->instruction = lookup_->module().name(candidates[k]);
    }
  }

  const DumpModel& model_;
  int32_t module_;
  std::shared_ptr<ThunkSequence> sequence_ = std::make_shared<ThunkSequence>();
  std::map<std::pair<int64_t, std::string>, std::string> metadata_;
  std::shared_ptr<const InstructionLookup> lookup_;
};

}  // namespace

Result<std::shared_ptr<const ThunkSequence>> MakeThunkSequence(const DumpModel& model,
                                                               int32_t module) {
  return ThunkTable(model, module).Make();
}

}  // namespace hloscope::dump
