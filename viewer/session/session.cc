// The life of the parts together, and another reading of the dump under them.
#include "viewer/session/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"

namespace hloscope::viewer {

Session::Session(const SessionOptions& options)
    : Context{.document = document_,
              .navigation = navigation_,
              .data = data_,
              .second = second_,
              .cache = cache_,
              .marks = marks_,
              .requests = requests_,
              .messages = messages_,
              .heat = heat_,
              .source_folders = source_folders_,
              .experiment = experiment_,
              .bookmarks = bookmarks_,
              .recent = recent_,
              .tasks = tasks_},
      document_(options.limits, options.wake),
      experiment_(options.wake, options.worker_program, options.state_folder),
      cache_(tasks),
      data_(document_, cache_),
      navigation_(document_, data_, tasks),
      second_(options.limits, options.wake, tasks, messages),
      tasks_(options.threads, options.wake) {}

void Session::Replace(const std::vector<std::string>& paths) {
  tasks_.CancelAll();
  tasks_.Forget();
  cache_.Clear();
  data_.Clear();
  marks_.Clear();
  second_.Close();
  tasks_.NoteCancelled(false);
  bookmarks_.clear();
  experiment_.Reset();
  refreshing_.reset();
  before_.reset();
  lost_selection_.reset();
  wanted_event_.reset();
  sought_in_.reset();
  is_naming_ = has_positions_ = false;
  document_.Replace(paths, tasks_, messages_);
  navigation_.Reset();
}

void Session::Refresh(const std::vector<std::string>& also) {
  if (document_.dump().waiting()) return;  // it is being read
  if (document_.path().empty()) return RefreshProfiles();
  refreshing_.emplace();
  document_.ReadAgain(also, tasks_, messages_, [this](std::shared_ptr<DumpReading> reading) {
    TakeReading(std::move(reading));
  });
}

void Session::RefreshProfiles() {
  const Pending<ProfileModel>* profile = ProfileOf(*this);
  const Selection& now = navigation_.selection();
  if (now.kind == SelectionKind::kEvent && profile != nullptr && profile->ready()) {
    wanted_event_ = Anchor{.kind = SelectionKind::kEvent};
    NameEvent((*profile)->store(), now.event, *wanted_event_);
  }
  navigation_.ForgetEvents();
  cache_.Clear();
}

void Session::TakeReading(std::shared_ptr<DumpReading> reading) {
  const bool is_shown = document_.dump().ready();
  if (is_shown && reading->stopped) return refreshing_.reset();
  const auto before = is_shown ? document_.dump().value : before_;
  if (before != nullptr && reading->model) {
    refreshing_ = Refreshing{.before = before, .reading = std::move(reading), .refound = {}};
    return SeekMissing();
  }
  // There is nothing to find, or nothing to find it in.
  refreshing_.reset();
  before_ = before;
  if (before != nullptr) navigation_.Suspend();
  cache_.Clear();
  data_.Clear();
  document_.Adopt(std::move(*reading));
  second_.ReadAgain();
}

Sought Session::Missing() const {
  const Refound& known = refreshing_->refound;
  Sought sought;
  const auto seek = [&](const Selection& selection) {
    if (known.NameOf(selection) == nullptr) sought.selections.push_back(selection);
  };
  const auto seek_anchor = [&](const Anchor& anchor) {
    if (known.Of(anchor) == nullptr) sought.anchors.push_back(anchor);
  };
  for (const Selection& selection : navigation_.All()) seek(selection);
  for (const Bookmark& bookmark : bookmarks_) {
    if (!bookmark.is_named()) {
      seek(bookmark.selection);
    } else {
      seek_anchor(bookmark.anchor);
    }
  }
  if (lost_selection_) seek_anchor(*lost_selection_);
  for (const Experiment::Stage& stage : experiment_.stages()) {
    if (known.Of(stage) == nullptr) sought.stages.push_back(stage);
  }
  return sought;
}

// The user goes on meanwhile: what is new is looked for as well.
void Session::SeekMissing() {
  Sought sought = Missing();
  if (sought.empty()) return Adopt();
  const Pending<ProfileModel>* profile = ProfileOf(*this);
  tasks_.Start(
      "restoring the selection",
      [this, before = refreshing_->before, reading = refreshing_->reading,
       profile = profile == nullptr ? nullptr : profile->value,
       sought = std::move(sought)](TaskControl&) -> Tasks::Finish {
        auto refound = std::make_shared<Refound>(
            Seek(*before, **reading->model, sought, profile ? &profile->store() : nullptr));
        return [this, refound, reading] {
          if (!refreshing_ || refreshing_->reading != reading) return;
          Refound& known = refreshing_->refound;
          std::ranges::move(refound->named, std::back_inserter(known.named));
          std::ranges::move(refound->found, std::back_inserter(known.found));
          std::ranges::move(refound->stages, std::back_inserter(known.stages));
          SeekMissing();
        };
      },
      Tasks::Urgency::kFirst);
}

// From one frame to the next: at no time half of it is of another reading.
void Session::Adopt() {
  const Refreshing done = *std::exchange(refreshing_, {});
  const Refound& refound = done.refound;
  const dump::DumpModel &before = *done.before, &now = **done.reading->model;
  std::vector<std::string> lost;
  before_.reset();
  cache_.Clear();
  data_.Clear();
  document_.Adopt(std::move(*done.reading));
  second_.ReadAgain();
  AdoptSelection(before, now, refound);
  for (Bookmark& bookmark : bookmarks_) {
    if (const auto* name = bookmark.is_named() ? nullptr : refound.NameOf(bookmark.selection))
      bookmark.anchor = name->value_or(Anchor{.kind = bookmark.selection.kind});
    const Result<Selection>* found = refound.Of(bookmark.anchor);
    bookmark.selection = found != nullptr ? found->value_or(Selection()) : Selection();
    if (found == nullptr || !*found) lost.push_back("bookmark " + bookmark.title);
  }
  std::vector<StageAgain> again;
  for (const Experiment::Stage& stage : experiment_.stages()) {
    again.push_back(*refound.Of(stage));
    if (again.back().place.stage < 0) lost.push_back("run of " + ToString(stage.first));
  }
  experiment_.Rebase(again);
  marks_.Rebase(before, now, lost);
  tasks_.NoteCancelled(false);
  if (lost.empty()) return;
  messages_.Post(
      Severity::kWarning,
      fmt::format("no longer in the dump, kept until it is again: {}", fmt::join(lost, "; ")));
}

// One that is lost is selected again in the next reading that has it, unless another one is then.
void Session::AdoptSelection(const dump::DumpModel& before, const dump::DumpModel& now,
                             const Refound& refound) {
  const Selection selected = navigation_.latest();
  navigation_.Rebase(before, now, [&](const Selection& was) -> std::optional<Selection> {
    const Result<Selection>* found = refound.Of(was);
    if (found == nullptr || !*found ||
        ((*found)->kind != was.kind && !(*found)->instruction.valid()))
      return std::nullopt;
    return **found;
  });
  if (selected.kind == SelectionKind::kNothing) {
    const Result<Selection>* found = lost_selection_ ? refound.Of(*lost_selection_) : nullptr;
    if (found == nullptr || !*found) return;
    lost_selection_.reset();
    return navigation_.Select(**found);
  }
  const Result<Anchor>* name = refound.NameOf(selected);
  if (name == nullptr) return;
  const Result<Selection>* found = refound.Of(selected);
  if (*name && selected.kind == SelectionKind::kEvent) wanted_event_ = **name;
  if (*name && found != nullptr && *found) return;
  if (*name) lost_selection_ = **name;
  messages_.Post(Severity::kNote,
                 "selection lost: " + (*name ? found->error() : name->error()).ToString());
}

void Session::RestoreBookmarks(std::vector<Bookmark> kept) {
  if (kept.empty()) return;
  has_positions_ = !std::ranges::all_of(kept, &Bookmark::is_named);
  bookmarks_ = kept;
  for (Bookmark& bookmark : bookmarks_) bookmark.selection = {};
  tasks_.Start(
      "restoring bookmarks",
      [this, kept = std::move(kept), dump = document_.dump().value,
       generation = document_.generation()](TaskControl&) mutable -> Tasks::Finish {
        const size_t lost = NamePositions(*dump, kept);
        std::vector<Selection> found;
        for (const Bookmark& bookmark : kept)
          found.push_back(Find(*dump, bookmark.anchor).value_or(Selection()));
        return [this, kept, found, lost, generation] {
          has_positions_ = false;
          for (size_t i = 0; i < kept.size(); ++i) {
            // The user may have changed or removed it since, and read the dump again.
            for (Bookmark& bookmark : bookmarks_) {
              const bool is_it = bookmark.title == kept[i].title && bookmark.note == kept[i].note &&
                                 bookmark.selection == Selection();
              if (!is_it || (bookmark.anchor != kept[i].anchor && bookmark.anchor != Anchor()))
                continue;
              bookmark.anchor = kept[i].anchor;
              if (generation == document_.generation()) bookmark.selection = found[i];
              break;
            }
          }
          if (lost == 0) return;
          messages_.Post(
              Severity::kNote,
              fmt::format("bookmarks of an older version whose place is not known: {}; their notes "
                          "are kept",
                          lost));
        };
      });
}

// What the user has kept is known by name before anything can move.
void Session::NameBookmarks() {
  if (is_naming_) return;
  const Pending<ProfileModel>* profile = nullptr;
  std::vector<Selection> unnamed;
  for (Bookmark& bookmark : bookmarks_) {
    if (bookmark.is_named()) continue;
    if (bookmark.selection.kind == SelectionKind::kEvent) profile = ProfileOf(*this);
    unnamed.push_back(bookmark.selection);
  }
  if (unnamed.empty() || (profile != nullptr && profile->waiting())) return;
  const auto events = profile != nullptr ? profile->value : nullptr;
  const auto name = [this](const Selection& selection, Result<Anchor> anchor) {
    for (Bookmark& bookmark : bookmarks_) {
      if (!bookmark.is_named() && bookmark.selection == selection)
        bookmark.anchor = anchor.value_or(Anchor{.kind = selection.kind});
    }
  };
  if (!document_.dump().ready()) {
    for (const Selection& selection : unnamed) {
      Anchor anchor{.kind = selection.kind};
      if (events != nullptr) NameEvent(events->store(), selection.event, anchor);
      name(selection, anchor);
    }
    return;
  }
  is_naming_ = true;
  tasks_.Start(
      "naming bookmarks",
      [this, unnamed, name, events, dump = document_.dump().value](TaskControl&) -> Tasks::Finish {
        std::vector<Result<Anchor>> anchors;
        for (const Selection& selection : unnamed)
          anchors.push_back(AnchorOf(*dump, selection, events ? &events->store() : nullptr));
        return [this, unnamed, name, anchors] {
          is_naming_ = false;
          for (size_t i = 0; i < unnamed.size(); ++i) name(unnamed[i], anchors[i]);
        };
      });
}

void Session::NameBookmarksNow() {
  if (!document_.dump().ready()) return;
  for (Bookmark& bookmark : bookmarks_) {
    if (bookmark.is_named()) continue;
    bookmark.anchor = AnchorOf(*document_.dump(), bookmark.selection)
                          .value_or(Anchor{.kind = bookmark.selection.kind});
  }
}

// Events are rows of a profile that is read after the dump.
void Session::FindEvents() {
  const auto is_sought = [](const Bookmark& bookmark) {
    return bookmark.anchor.kind == SelectionKind::kEvent &&
           bookmark.selection.kind != SelectionKind::kEvent;
  };
  if (!wanted_event_ && std::ranges::none_of(bookmarks_, is_sought)) return;
  const Pending<ProfileModel>* profile = ProfileOf(*this);
  if (profile == nullptr || !profile->ready() || sought_in_ == profile->value) return;
  sought_in_ = profile->value;
  const auto find = [&](const Anchor& anchor) {
    const int64_t event = FindEvent((*profile)->store(), anchor);
    return event < 0 ? Selection()
                     : SelectionOf(**profile, profiler::EventId(static_cast<uint32_t>(event)));
  };
  for (Bookmark& bookmark : bookmarks_) {
    if (!is_sought(bookmark)) continue;
    if (const Selection found = find(bookmark.anchor); found.event >= 0) bookmark.selection = found;
  }
  if (!wanted_event_) return;
  const Anchor wanted = *std::exchange(wanted_event_, {});
  if (const Selection found = find(wanted); found.event >= 0) return navigation_.Select(found);
  messages_.Post(Severity::kNote, "selection lost: " + ToString(wanted) + " is not in the profile");
}

void Session::AddProfiles(const std::vector<std::string>& paths) {
  const std::vector<std::string> before = ProfilePaths(*this);
  document_.AddProfiles(paths);
  const std::vector<std::string> now = ProfilePaths(*this);
  if (before.empty() || now.front() == before.front()) return;
  navigation_.ForgetEvents();
  marks_.Of<TimelineMarks>().range = {};
}

void Session::CloseProfiles() {
  document_.CloseProfiles();
  navigation_.ForgetEvents();
  // Positions of events are those of another profile from now on; names are looked for again.
  for (Bookmark& bookmark : bookmarks_) {
    if (bookmark.is_named() && bookmark.selection.kind == SelectionKind::kEvent)
      bookmark.selection = {};
  }
  sought_in_.reset();
  marks_.Of<TimelineMarks>().range = {};
}

bool Session::Update() {
  const bool ran = experiment_.Update(), changed = document_.TakeNews();
  const bool second_changed = second_.Update();
  const bool collected = tasks_.Collect();
  if (std::string path = document_.TakeSecondPath(); !path.empty()) second_.Open(std::move(path));
  NameBookmarks();
  FindEvents();
  return collected || ran || changed || second_changed;
}

void Session::CancelWork() {
  if (tasks_.idle()) return;
  tasks_.NoteCancelled(true);
  tasks_.CancelAll();
}

void Session::Resume() {
  tasks_.NoteCancelled(false);
  cache_.DropCancelled();
  second_.cache().DropCancelled();
  navigation_.ForgetCounterparts();
}

}  // namespace hloscope::viewer
