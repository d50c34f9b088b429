// Session: what is open, what is selected, and what was read or computed for it. Everything of the
// viewer that is no drawing; used from the main thread only.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/align/pass_changes.h"
#include "core/debug/align/provenance.h"
#include "core/dump/dump_model.h"
#include "viewer/commands/commands.h"
#include "viewer/model/counterparts.h"
#include "viewer/model/dump_watch.h"
#include "viewer/model/experiment.h"
#include "viewer/model/history.h"
#include "viewer/model/pending.h"
#include "viewer/model/selection.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {

struct SessionOptions {
  Limits limits;
  int threads = 2;
  std::function<void()> wake;                 // from any thread: there is something to draw
  std::string worker_program = kThisProgram;  // runs what the divergence lab asks for
};

// A sentence for the user, shown until it is read.
enum class Severity : uint8_t { kNote, kWarning, kError };
struct Message {
  Severity severity = Severity::kNote;
  std::string text;
};

class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();

  // --- What is open -----------------------------------------------------------------------------
  // Opens a dump directory, a module or a bundle in the background; traces among the
  // paths go to profile_paths(). Forgets what was open.
  void Open(const std::vector<std::string>& paths);
  const std::string& path() const { return path_; }  // of the dump, empty: nothing is open
  const std::vector<std::string>& profile_paths() const { return profile_paths_; }
  const Pending<dump::DumpModel>& dump() const { return dump_; }
  // Grows with every Open: what a view kept of the last dump is void.
  uint64_t generation() const { return generation_; }
  const Limits& limits() const { return options_.limits; }
  // How the dump's folder differs from what was read; kept until Open or ForgetNews.
  const DumpNews& news() const { return news_; }
  void ForgetNews() { news_ = {}; }
  // Looks for news now; it comes with a later Update.
  void LookForNews() { watch_.Look(); }
  // A profile to set beside the first: a trace, or a folder that holds one and perhaps the dump of
  // what ran. Empty: none beyond those that were opened.
  const std::string& second_profile() const { return second_profile_; }
  void CompareWith(std::string path) { second_profile_ = std::move(path); }

  // --- What is selected -------------------------------------------------------------------------
  const Selection& selection() const { return selections_.current(); }
  uint64_t selection_version() const { return selection_version_; }
  // Nothing happens where the dump has no such module, stage or file.
  void Select(const Selection& selection);
  bool CanGoBack() const { return selections_.CanGoBack(); }
  bool CanGoForward() const { return selections_.CanGoForward(); }
  void Back();
  void Forward();
  // Everything that stands for the selection elsewhere: what is known already, complete once
  // counterparts_complete(). Never null fields; empty where nothing is selected.
  const Counterparts& counterparts();
  bool counterparts_complete() const { return counterparts_complete_; }
  // The module in view: that of the selection, else the first. -1: none.
  int32_t module() const;
  // The stage in view: that of the selection, else the last shown of that module, else the final.
  int32_t stage() const;
  // The selection's instruction as it is in `stage` of the module in view; invalid: none.
  hlo::InstructionId InstructionIn(int32_t stage);

  // --- What is read and computed, on first asking, in the background
  // ------------------------------ The first call starts the work; ask again in every frame.
  // References hold until Open.
  const Pending<hlo::Module>& Module(int32_t module, int32_t stage);
  const Pending<dump::KernelTable>& Kernels(int32_t module);
  const Pending<dump::ThunkSequence>& Thunks(int32_t module);
  const Pending<dump::BufferTable>& Buffers(int32_t module);
  const Pending<FileView>& File(int32_t file);
  // What was done since the stage before (the nearest that can be read); fails for the first.
  const Pending<debug::PassChanges>& Changes(int32_t module, int32_t stage);
  // Shared by all who ask; its functions are slow: call them in the background.
  std::shared_ptr<const debug::Provenance> Provenance(int32_t module);

  // Anything else of a view: computed once per `key` (and type), which must name all it depends on.
  template <typename T>
  const Pending<T>& Get(const std::string& key, const std::string& title,
                        std::function<Result<std::shared_ptr<const T>>(TaskControl&)> compute) {
    std::any& slot = slots_[key];
    if (auto* known = std::any_cast<std::shared_ptr<Pending<T>>>(&slot)) return **known;
    auto pending = std::make_shared<Pending<T>>();
    slot = pending;
    pending->state = PendingState::kWaiting;
    pending->task = tasks_.Start(
        title, [this, key, pending, compute = std::move(compute)](TaskControl& control) {
          auto result =
              std::make_shared<Result<std::shared_ptr<const T>>>(Guarded<T>(compute, control));
          return [this, key, pending, result, stopped = control.stopped()] {
            pending->state = *result ? PendingState::kReady : PendingState::kFailed;
            if (*result) {
              pending->value = **result;
            } else {
              pending->error = result->error();
              if (stopped) cancelled_.push_back(key);
            }
          };
        });
    return *pending;
  }
  // Forgets what was computed under `key`, as when its parameters changed.
  void Drop(const std::string& key) { slots_.erase(key); }

  // A value that several views share, made empty when first asked for and by Open.
  template <typename T>
  T& Shared(const std::string& key) {
    std::any& slot = slots_["shared/" + key];
    if (std::any_cast<T>(&slot) == nullptr) slot = T();
    return *std::any_cast<T>(&slot);
  }

  // --- Life
  // ---------------------------------------------------------------------------------------
  Tasks& tasks() { return tasks_; }
  // Stops what is being read and computed. What was not finished stays so until Resume.
  void CancelWork();
  bool was_cancelled() const { return was_cancelled_; }
  // Reads and computes again, on asking, what was cancelled; between frames: references to it end.
  void Resume();
  // What the divergence lab runs; forgotten with the dump.
  Experiment& experiment() { return experiment_; }
  // Takes over what the background found; true if there was anything. Once a frame.
  bool Update();
  // Nothing is loading, resolving or computing.
  bool idle() const;

  void PostMessage(Severity severity, std::string text);
  const std::vector<Message>& messages() const { return messages_; }
  void ForgetMessages() { messages_.clear(); }

  // --- Notes of the user
  // --------------------------------------------------------------------------
  struct Bookmark {
    std::string title, note;
    Selection selection;
    bool operator==(const Bookmark&) const = default;
  };
  std::vector<Bookmark>& bookmarks() { return bookmarks_; }

  // --- Requests: what a view or command asks of the frame around it
  // ------------------------------------ Shows the screen or view of that id.
  void Show(std::string_view view) { requested_view_ = view; }
  // Opens something else, once this frame is drawn.
  void RequestOpen(std::vector<std::string> paths) { requested_paths_ = std::move(paths); }
  std::vector<std::string> TakeRequestedPaths() { return std::exchange(requested_paths_, {}); }
  // Looks for words in everything, once this frame is drawn.
  void RequestSearch(std::string words) { requested_search_ = std::move(words); }
  std::string TakeRequestedSearch() { return std::exchange(requested_search_, {}); }
  // What was opened before, newest first.
  std::vector<std::string>& recent() { return recent_; }
  std::string TakeRequestedView() { return std::exchange(requested_view_, {}); }
  // Runs a command once this frame is drawn.
  void RequestRun(Command command) { requested_command_ = command; }
  std::optional<Command> TakeRequestedCommand() { return std::exchange(requested_command_, {}); }

 private:
  template <typename T, typename F>
  static Result<std::shared_ptr<const T>> Guarded(const F& compute, TaskControl& control) {
    try {
      if (control.stopped()) return std::unexpected(Error{ErrorClass::kDied, "cancelled", {}, {}});
      return compute(control);
    } catch (const std::exception& error) {
      return std::unexpected(Error{ErrorClass::kEnvironment, error.what(), {}, {}});
    }
  }
  void Resolve();
  bool Holds(const Selection& selection) const;

  SessionOptions options_;
  std::string path_;
  std::vector<std::string> profile_paths_;
  uint64_t generation_ = 0;
  Pending<dump::DumpModel> dump_;
  History<Selection> selections_;
  uint64_t selection_version_ = 0;
  Counterparts counterparts_;
  uint64_t counterparts_version_ = 0;  // of the selection they were asked for
  uint64_t counterparts_task_ = 0;
  bool counterparts_complete_ = true;
  std::map<int32_t, int32_t> stage_in_view_;  // by module
  std::map<std::string, std::any> slots_;
  std::map<int32_t, std::shared_ptr<const debug::Provenance>> provenances_;
  std::vector<Message> messages_;
  std::vector<Bookmark> bookmarks_;
  std::string requested_view_, requested_search_, second_profile_;
  std::optional<Command> requested_command_;
  bool was_cancelled_ = false;
  std::vector<std::string> cancelled_;  // keys of what failed because it was
  DumpNews news_;
  DumpWatch watch_;
  Experiment experiment_;
  std::vector<std::string> requested_paths_, recent_;
  Tasks tasks_;  // last: its threads end before what they use
};

}  // namespace hloscope::viewer
