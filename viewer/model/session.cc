// What is open, selected, read and computed.
#include "viewer/model/session.h"

#include <algorithm>
#include <iterator>

#include "core/debug/align/alignment.h"
#include "profiler/profile.h"

namespace hloscope::viewer {
namespace {

std::string Key(const char* what, int32_t a, int32_t b = 0) {
  return std::string(what) + "/" + std::to_string(a) + "/" + std::to_string(b);
}

}  // namespace

Session::Session(SessionOptions options)
    : options_(std::move(options)),
      watch_(options_.wake),
      experiment_(options_.wake, options_.worker_program),
      tasks_(options_.threads, options_.wake) {}

Session::~Session() = default;

void Session::Open(const std::vector<std::string>& paths) {
  tasks_.CancelAll();
  tasks_.Forget();
  ++generation_;
  slots_.clear();
  provenances_.clear();
  stage_in_view_.clear();
  profile_paths_.clear();
  second_profile_.clear();
  was_cancelled_ = false;
  cancelled_.clear();
  path_.clear();
  dump_ = {};
  watch_.Forget();
  news_ = {};
  bookmarks_.clear();
  experiment_.Reset();
  selections_.Reset({});
  ++selection_version_;
  counterparts_ = {};
  counterparts_complete_ = true;
  counterparts_task_ = 0;
  for (const std::string& path : paths) {
    if (profiler::IsTraceName(path)) {
      profile_paths_.push_back(path);
    } else if (path_.empty()) {
      path_ = path;
    } else {
      PostMessage(Severity::kWarning, path + ": not opened, one dump is shown at a time");
    }
  }
  if (path_.empty()) return;
  dump_.state = PendingState::kWaiting;
  auto generation = generation_;
  dump_.task = tasks_.Start(
      "opening " + path_,
      [this, generation, path = path_, limits = limits()](TaskControl& control) -> Tasks::Finish {
        using Model = Result<std::shared_ptr<const dump::DumpModel>>;
        auto listing = std::make_shared<std::optional<dump::Listing>>();
        auto model = std::make_shared<Model>(Guarded<dump::DumpModel>(
            [&](TaskControl& c) -> Model {
              HLOSCOPE_ASSIGN_OR_RETURN(*listing, ListPath(path, limits, c.stop()));
              dump::OpenOptions open;
              dump::Listing read = **listing;  // the watch compares with its own
              open.listing = &read;
              open.jobs = 2;
              open.stop = c.stop();
              open.progress = [&c](int64_t done, int64_t total) { c.Progress(done, total); };
              return dump::DumpModel::Open(path, limits, open);
            },
            control));
        return [this, generation, model, listing, path, limits] {
          if (generation != generation_) return;
          if (*listing) watch_.Follow(path, *std::move(*listing), limits);
          dump_.state = *model ? PendingState::kReady : PendingState::kFailed;
          if (*model) {
            dump_.value = **model;
          } else {
            dump_.error = model->error();
          }
        };
      });
}

void Session::Select(const Selection& selection) {
  if (selection == selections_.current() || !Holds(selection)) return;
  selections_.Push(selection);
  if (selection.module >= 0 && selection.stage >= 0)
    stage_in_view_[selection.module] = selection.stage;
  ++selection_version_;
}

// Bookmarks and kept sessions may be of a dump that has changed since.
bool Session::Holds(const Selection& selection) const {
  if (selection.kind == SelectionKind::kNothing) return true;
  if (!dump_.ready()) return selection.kind == SelectionKind::kEvent;
  auto modules = static_cast<int32_t>(dump_->modules().size());
  if (selection.module >= modules || selection.file >= std::ssize(dump_->files())) return false;
  if (selection.module < 0) return true;
  const dump::ModuleEntry& entry = dump_->modules()[static_cast<size_t>(selection.module)];
  return selection.stage < std::ssize(entry.stages);
}

void Session::Back() {
  if (selections_.Back()) ++selection_version_;
}
void Session::Forward() {
  if (selections_.Forward()) ++selection_version_;
}

int32_t Session::module() const {
  if (!dump_.ready() || dump_->modules().empty()) return -1;
  int32_t module = ModuleOf(*dump_, selection());
  if (module >= 0) return module;
  return counterparts_.module >= 0 ? counterparts_.module : 0;
}

int32_t Session::stage() const {
  int32_t module = this->module();
  if (module < 0) return -1;
  if (selection().module == module && selection().stage >= 0) return selection().stage;
  auto known = stage_in_view_.find(module);
  return known != stage_in_view_.end() ? known->second : dump_->FinalStage(module);
}

hlo::InstructionId Session::InstructionIn(int32_t stage) {
  const Selection& now = selection();
  bool own = now.kind == SelectionKind::kInstruction && now.stage == stage;
  hlo::InstructionId id = own ? now.instruction : counterparts().In(stage);
  if (!id.valid() || module() < 0) return id;
  // A kept id may be of a dump that has changed since.
  const Pending<hlo::Module>& read = Module(module(), stage);
  return read.ready() && id.index >= read->instructions().size() ? hlo::InstructionId() : id;
}

const Counterparts& Session::counterparts() {
  if (counterparts_version_ != selection_version_) Resolve();
  return counterparts_;
}

void Session::Resolve() {
  counterparts_version_ = selection_version_;
  if (counterparts_task_ != 0) tasks_.Cancel(counterparts_task_);
  counterparts_task_ = 0;
  counterparts_ = {};
  counterparts_.of = selection();
  counterparts_complete_ = true;
  if (!dump_.ready() || selection().kind == SelectionKind::kNothing) return;
  counterparts_.module = ModuleOf(*dump_, selection());
  if (counterparts_.module < 0) return;
  counterparts_complete_ = false;
  auto provenance = Provenance(counterparts_.module);
  // Both go before all other work: what needs no other stage, which is there at once, and all of
  // it.
  for (bool whole : {true, false}) {
    uint64_t task = tasks_.Start(
        "following the selection",
        [this, whole, provenance, of = selection(),
         version = selection_version_](TaskControl& control) {
          auto found = std::make_shared<Counterparts>(
              FindCounterparts(*provenance, of, whole, control.stop()));
          return [this, whole, found, version] {
            if (version != selection_version_ || (counterparts_complete_ && !whole)) return;
            counterparts_ = std::move(*found);
            counterparts_complete_ = whole;
          };
        },
        Tasks::Urgency::kFirst);
    if (whole) counterparts_task_ = task;
  }
}

const Pending<hlo::Module>& Session::Module(int32_t module, int32_t stage) {
  return Get<hlo::Module>(
      Key("module", module, stage), "reading the module",
      [dump = dump_.value, module, stage](TaskControl&) { return dump->Module(module, stage); });
}

const Pending<dump::KernelTable>& Session::Kernels(int32_t module) {
  return Get<dump::KernelTable>(
      Key("kernels", module), "reading kernels",
      [dump = dump_.value, module](TaskControl&) { return dump->Kernels(module); });
}

const Pending<dump::ThunkSequence>& Session::Thunks(int32_t module) {
  return Get<dump::ThunkSequence>(
      Key("thunks", module), "reading thunks",
      [dump = dump_.value, module](TaskControl&) { return dump->Thunks(module); });
}

const Pending<dump::BufferTable>& Session::Buffers(int32_t module) {
  return Get<dump::BufferTable>(
      Key("buffers", module), "reading buffers",
      [dump = dump_.value, module](TaskControl&) { return dump->Buffers(module); });
}

const Pending<FileView>& Session::File(int32_t file) {
  return Get<FileView>(
      Key("file", file), "reading a file",
      [dump = dump_.value, file](TaskControl&) -> Result<std::shared_ptr<const FileView>> {
        HLOSCOPE_ASSIGN_OR_RETURN(FileView view, dump->OpenFile(file));
        return std::make_shared<const FileView>(std::move(view));
      });
}

std::shared_ptr<const debug::Provenance> Session::Provenance(int32_t module) {
  if (!dump_.ready() || module < 0) return nullptr;
  auto& known = provenances_[module];
  if (known == nullptr) known = std::make_shared<const debug::Provenance>(dump_.value, module);
  return known;
}

const Pending<debug::PassChanges>& Session::Changes(int32_t module, int32_t stage) {
  using Answer = Result<std::shared_ptr<const debug::PassChanges>>;
  return Get<debug::PassChanges>(Key("changes", module, stage), "comparing two stages",
                                 [provenance = Provenance(module), stage](TaskControl&) -> Answer {
                                   if (provenance == nullptr) return InputError("no such module");
                                   const debug::Lineage& lineage = provenance->lineage();
                                   int32_t earlier = lineage.Neighbour(stage, -1);
                                   if (earlier < 0)
                                     return InputError("the first stage has none before it");
                                   HLOSCOPE_ASSIGN_OR_RETURN(auto before, lineage.Module(earlier));
                                   HLOSCOPE_ASSIGN_OR_RETURN(auto after, lineage.Module(stage));
                                   HLOSCOPE_ASSIGN_OR_RETURN(auto alignment, lineage.Step(earlier));
                                   return std::make_shared<const debug::PassChanges>(
                                       debug::FindChanges(*before, *after, *alignment));
                                 });
}

bool Session::Update() {
  bool news = experiment_.Update();
  if (std::optional<DumpNews> found = watch_.Take()) {
    news_ = *std::move(found);
    news = true;
  }
  return tasks_.Collect() || news;
}

void Session::CancelWork() {
  if (tasks_.idle()) return;
  was_cancelled_ = true;
  tasks_.CancelAll();
}

void Session::Resume() {
  was_cancelled_ = false;
  for (const std::string& key : std::exchange(cancelled_, {})) slots_.erase(key);
  counterparts_version_ = 0;  // what was found of them may be a part
}

bool Session::idle() const { return tasks_.idle() && !experiment_.running(); }

void Session::PostMessage(Severity severity, std::string text) {
  messages_.push_back({severity, std::move(text)});
}

}  // namespace hloscope::viewer
