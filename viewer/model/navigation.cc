// Selecting, and finding what stands for the selection.
#include "viewer/model/navigation.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {

void Navigation::Select(const Selection& selection) {
  if (selection == selections_.current() || !Holds(selection)) return;
  Leave();
  selections_.Push(selection);
  if (selection.module >= 0 && selection.stage >= 0)
    stage_in_view_[selection.module] = selection.stage;
}

void Navigation::Suggest(const Selection& selection) {
  const bool was_chosen = stage_in_view_.contains(selection.module);
  Select(selection);
  if (was_chosen) return;
  stage_in_view_.erase(selection.module);
  suggested_ = version_;
}

// For another selection; where that names no module the one in view stays.
void Navigation::Leave() {
  if (const int32_t now = module(); now >= 0) module_in_view_ = now;
  ++version_;
}

// What was run may be of a module that is not in the dump any more.
bool Navigation::Holds(const Selection& selection) const {
  if (selection.kind == SelectionKind::kNothing) return true;
  if (!document_.dump().ready()) return selection.kind == SelectionKind::kEvent;
  auto modules = static_cast<int32_t>(document_.dump()->modules().size());
  if (selection.module >= modules || selection.file >= std::ssize(document_.dump()->files()))
    return false;
  if (selection.module < 0) return selection.kind >= SelectionKind::kEvent;
  const dump::ModuleEntry& entry =
      document_.dump()->modules()[static_cast<size_t>(selection.module)];
  return selection.stage < std::ssize(entry.stages);
}

// By the bytes of its files, which are known without reading them; the first of equals.
int32_t Navigation::LargestModule() const {
  const dump::DumpModel& dump = *document_.dump().value;
  if (largest_of_ == document_.generation()) return largest_;
  int64_t most = -1;
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    int64_t bytes = 0;
    for (int32_t file : dump.modules()[m].files)
      bytes += dump.files()[static_cast<size_t>(file)].bytes;
    if (bytes <= most) continue;
    most = bytes;
    largest_ = static_cast<int32_t>(m);
  }
  largest_of_ = document_.generation();
  return largest_;
}

std::vector<Selection> Navigation::All() const {
  std::vector<Selection> all;
  (suspended_ ? *suspended_ : selections_).ForEach([&](const Selection& s) { all.push_back(s); });
  return all;
}

void Navigation::Suspend() {
  if (!suspended_) suspended_ = selections_;
  selections_.Reset({});
  ++version_;
  ForgetCounterparts();
}

void Navigation::Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                        const Refind& find) {
  if (suspended_) selections_ = *std::exchange(suspended_, {});
  const auto again = [&](int32_t module, int32_t stage) {
    return FindPlace(now, AnchorOfStage(before, module, stage));
  };
  if (module_in_view_ >= 0) module_in_view_ = again(module_in_view_, -1).module;
  for (const auto& [module, stage] : std::exchange(stage_in_view_, {})) {
    const Place place = again(module, stage);
    if (place.stage >= 0) stage_in_view_[place.module] = place.stage;
  }
  const bool was_suggested = suggested_ == version_;
  ++version_;
  if (was_suggested) suggested_ = version_;
  selections_.Change(find);
  ForgetCounterparts();
}

void Navigation::Reset() {
  suspended_.reset();
  selections_.Reset({});
  ++version_;
  counterparts_ = {};
  counterparts_complete_ = true;
  counterparts_task_ = 0;
  module_in_view_ = -1;
  stage_in_view_.clear();
}

void Navigation::ForgetEvents() {
  selections_.ForEach([](Selection& selection) {
    if (selection.kind != SelectionKind::kEvent) return;
    const bool is_tied = selection.stage >= 0 && selection.instruction.valid();
    selection =
        is_tied ? Selection::OfInstruction(selection.module, selection.stage, selection.instruction)
                : Selection();
  });
  ++version_;
}

void Navigation::Back() {
  if (!CanGoBack()) return;
  Leave();
  selections_.Back();
}
void Navigation::Forward() {
  if (!CanGoForward()) return;
  Leave();
  selections_.Forward();
}

int32_t Navigation::module() const {
  if (!document_.dump().ready() || document_.dump()->modules().empty()) return -1;
  int32_t module = ModuleOf(*document_.dump(), selection());
  if (module >= 0) return module;
  if (counterparts_version_ == version_ && counterparts_.module >= 0) return counterparts_.module;
  return module_in_view_ >= 0 ? module_in_view_ : LargestModule();
}

int32_t Navigation::stage() const {
  int32_t module = this->module();
  if (module < 0) return -1;
  if (selection().module == module && selection().stage >= 0) return selection().stage;
  auto known = stage_in_view_.find(module);
  return known != stage_in_view_.end() ? known->second : document_.dump()->FinalStage(module);
}

bool Navigation::was_stage_chosen() const {
  const int32_t module = this->module();
  const bool is_chosen = suggested_ == 0 || suggested_ != version_;
  // A buffer, a kernel or a line is something of the final stage.
  if (is_chosen && selection().kind > SelectionKind::kStage) return true;
  return (is_chosen && selection().module == module && selection().stage >= 0) ||
         stage_in_view_.contains(module);
}

hlo::InstructionId Navigation::InstructionIn(int32_t stage) {
  const Selection& now = selection();
  bool own = now.kind == SelectionKind::kInstruction && now.stage == stage;
  hlo::InstructionId id = own ? now.instruction : counterparts().In(stage);
  if (!id.valid() || module() < 0) return id;
  // A kept id may be of a dump that has changed since.
  const Pending<hlo::Module>& read = data_.Module(module(), stage);
  return read.ready() && id.index >= read->instructions().size() ? hlo::InstructionId() : id;
}

const Counterparts& Navigation::counterparts() {
  if (counterparts_version_ != version_) Resolve();
  return counterparts_;
}

void Navigation::Resolve() {
  counterparts_version_ = version_;
  if (counterparts_task_ != 0) tasks_.Cancel(counterparts_task_);
  counterparts_task_ = 0;
  counterparts_ = {};
  counterparts_.of = selection();
  counterparts_complete_ = true;
  if (!document_.dump().ready() || selection().kind == SelectionKind::kNothing) return;
  counterparts_.module = ModuleOf(*document_.dump(), selection());
  if (counterparts_.module < 0) return;
  counterparts_complete_ = false;
  auto provenance = data_.Provenance(counterparts_.module);
  // Both go before all other work: what needs no other stage, which is there at once, and all of
  // it.
  for (bool whole : {true, false}) {
    uint64_t task = tasks_.Start(
        "resolving the selection",
        [this, whole, provenance, of = selection(), version = version_](TaskControl& control) {
          auto found = std::make_shared<Counterparts>(
              FindCounterparts(*provenance, of, whole, control.stop()));
          return [this, whole, found, version] {
            if (version != version_ || (counterparts_complete_ && !whole)) return;
            counterparts_ = std::move(*found);
            counterparts_complete_ = whole;
          };
        },
        Tasks::Urgency::kFirst);
    if (whole) counterparts_task_ = task;
  }
}

}  // namespace hloscope::viewer
