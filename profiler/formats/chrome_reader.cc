// The events of a Chrome trace (.trace.json), as JAX, XProf and Perfetto write them: complete ones,
// begun and ended ones, and the names of processes and threads.
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/checked.h"
#include "profiler/event_store_builder.h"
#include "profiler/formats/chrome_event.h"
#include "profiler/formats/losses.h"
#include "profiler/formats/source_bytes.h"
#include "profiler/profile.h"

namespace hloscope::profiler {
namespace {

constexpr int64_t kPicosecondsPerMicrosecond = 1'000'000;

enum class Phase : uint8_t {
  kComplete,
  kBegin,
  kEnd,
  kInstant,
  kAsyncBegin,
  kAsyncEnd,
  kAsyncInstant,
  kMetadata,
  kCounter,
  kLeftOut,
};

struct PhaseRow {
  Phase phase = Phase::kLeftOut;
  std::string_view left_out = "events of unknown type";
};

PhaseRow RowOfPhase(char letter) {
  static constexpr std::pair<char, PhaseRow> kRows[] = {
#define PHASE(character, what, words) {character, {Phase::what, words}},
#include "profiler/formats/chrome_phases.def"
#undef PHASE
  };
  for (const auto& [character, row] : kRows) {
    if (character == letter) return row;
  }
  return {};
}

class ChromeArguments : public ArgumentSource {
 public:
  ChromeArguments(FileView file, int64_t nesting) : bytes_(std::move(file)), nesting_(nesting) {}
  std::vector<Argument> Read(uint64_t where) const override {
    std::vector<Argument> arguments;
    const bool is_read = bytes_.ReadFrom(where, [&](std::string_view bytes) {
      JsonCursor whole(bytes, nesting_), cursor(bytes, nesting_);
      arguments = ReadChromeArguments(cursor);
      return whole.SkipValue().has_value();
    });
    if (!is_read) arguments = {{std::string(kArgumentsGone), std::string(kFileChanged)}};
    return arguments;
  }
  bool Release() { return bytes_.Release(); }

 private:
  SourceBytes bytes_;
  int64_t nesting_;
};

int64_t IntegerOr(std::string_view text, int64_t other) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : other;
}

class ChromeReader {
 public:
  ChromeReader(const FileView& file, const TraceRequest& request)
      : file_(file),
        request_(request),
        cursor_(file.bytes(), request.limits.nesting),
        profile_(std::make_shared<Profile>(file, ProfileFormat::kChromeJson)),
        arguments_(std::make_shared<ChromeArguments>(file, request.limits.nesting)) {
    builder_.set_arguments(arguments_);
  }

  Result<std::shared_ptr<Profile>> Read() {
    const bool is_whole = FindEvents() && ReadEvents();
    if (is_whole && is_object_) ReadMembers("");
    if (!is_whole && builder_.size() == 0 && builder_.sample_count() == 0) {
      return InputError(file_.path() + ": invalid JSON at byte " +
                            std::to_string(cursor_.position()) + ", before the first event",
                        "expected {\"traceEvents\": [{…}, …]} or a list of events");
    }
    if (!is_whole) {
      losses_.Count("truncated or invalid JSON: later events dropped", [&] {
        return "byte " + std::to_string(cursor_.position()) + " of " +
               std::to_string(file_.bytes().size());
      });
    }
    EndWhatIsOpen();
    NameLanes();
    SetOrigin();
    HLOSCOPE_ASSIGN_OR_RETURN(profile_->store, builder_.Finish(request_.jobs, request_.stop));
    profile_->losses = losses_.Take();
    if (request_.may_reread && arguments_->Release()) {
      profile_->file = FileView::FromBytes(file_.path(), "");
    }
    return profile_;
  }

 private:
  struct Process {
    uint32_t group = 0;
    std::string name;
    int64_t sort = 0;
    bool is_device = false;
  };
  struct Thread {
    LaneId lane;
    size_t process = 0;
    std::string name;
    int64_t sort = 0;
    std::optional<LaneRole> role = {};
  };
  struct Open {
    LaneId lane;
    int64_t start = 0;
    NameId name;
    OperationId operation;
    uint64_t where = 0;
  };

  // Goes to the first event; false if there is no list of them.
  bool FindEvents() {
    if (cursor_.Consume('[')) return true;
    if (!cursor_.Consume('{')) return false;
    is_object_ = true;
    return ReadMembers("traceEvents") && cursor_.Consume('[');
  }

  // Takes what members of the object around say of the trace, up to that of the name `last`; false
  // if there is none of it.
  bool ReadMembers(std::string_view last) {
    while (std::optional<std::string_view> key = cursor_.NextKey(is_first_member_)) {
      if (*key == last) return true;
      const size_t where = cursor_.position();
      if (!cursor_.SkipValue()) return false;
      if (*key == "otherData") TakeEnvironment(where);
      if (*key == kBaseTimeKey) {
        constexpr std::string_view kSpace = " \t\r\n";
        std::string_view value = file_.bytes().substr(where, cursor_.position() - where);
        value = value.substr(std::min(value.find_first_not_of(kSpace), value.size()));
        base_ns_ = IntegerOr(value.substr(0, value.find_last_not_of(kSpace) + 1), 0);
      }
    }
    return false;
  }

  // Time 0 is that of the first event, in whole microseconds from the base that the trace names.
  void SetOrigin() {
    std::optional<int64_t> origin = CheckedMul<int64_t>(origin_.value_or(0), 1000);
    if (origin) origin = CheckedAdd(*origin, base_ns_);
    builder_.set_origin_ns(origin.value_or(0));
  }

  // The texts among the members of an object.
  void TakeEnvironment(size_t where) {
    JsonCursor cursor(file_.bytes(), request_.limits.nesting, where);
    if (!cursor.Consume('{')) return;
    bool is_first = true;
    while (std::optional<std::string_view> key = cursor.NextKey(is_first)) {
      if (std::optional<std::string_view> text = cursor.ReadRawString()) {
        profile_->environment.emplace_back(UnescapeJson(*key), UnescapeJson(*text));
      } else if (!cursor.SkipValue()) {
        return;
      }
    }
  }

  bool ReadEvents() {
    if (cursor_.Consume(']')) return true;
    do {
      if (request_.stop.stop_requested()) return true;
      std::optional<ChromeEvent> event = ReadChromeEvent(cursor_);
      if (!event) return false;
      Take(*event);
    } while (cursor_.Consume(','));
    return cursor_.Consume(']');
  }

  void Take(const ChromeEvent& event) {
    if (event.is_empty) return;
    const PhaseRow row = RowOfPhase(event.phase);
    if (row.phase == Phase::kMetadata) return TakeMetadata(event);
    if (row.phase == Phase::kLeftOut) return Leave(row.left_out, event);
    const std::optional<int64_t> start = event.time ? TimeOf(*event.time) : std::nullopt;
    if (!start || event.has_bad_number) return Leave("events with out-of-range timestamps", event);
    switch (row.phase) {
      case Phase::kComplete: {
        const std::optional<int64_t> duration = LengthOf(event);
        if (!duration) return Leave("events with out-of-range timestamps", event);
        return Add({ThreadOf(event).lane, *start, NameOf(event), OperationOf(event), event.where},
                   *duration);
      }
      case Phase::kInstant:
        return Add({ThreadOf(event).lane, *start, NameOf(event), OperationOf(event), event.where},
                   0);
      case Phase::kAsyncInstant:
        return Add({AsyncLane(event), *start, NameOf(event), OperationOf(event), event.where}, 0);
      case Phase::kBegin:
        open_[ThreadOf(event).lane.index].push_back(
            {ThreadOf(event).lane, *start, NameOf(event), OperationOf(event), event.where});
        return;
      case Phase::kEnd:
        return End(open_[ThreadOf(event).lane.index], *start, event);
      case Phase::kAsyncBegin:
        open_async_[AsyncKey(event)].push_back(
            {AsyncLane(event), *start, NameOf(event), OperationOf(event), event.where});
        return;
      case Phase::kAsyncEnd:
        return End(open_async_[AsyncKey(event)], *start, event);
      case Phase::kCounter:
        return TakeSamples(event, *start);
      default:
        return;
    }
  }

  void Leave(std::string_view what, const ChromeEvent& event) {
    losses_.Count(what, [&] {
      return "at byte " + std::to_string(event.where) +
             (event.name.empty() ? std::string() : ": " + UnescapeJson(event.name.substr(0, 80)));
    });
  }

  // Each number among the arguments is a value of a counter of its own.
  void TakeSamples(const ChromeEvent& event, int64_t time) {
    JsonCursor cursor(file_.bytes(), request_.limits.nesting, event.where);
    for (const Argument& argument : ReadChromeArguments(cursor)) {
      std::optional<double> value = NumberOf(argument);
      if (!value) {
        Leave("non-numeric counter values", event);
        continue;
      }
      std::string name = UnescapeJson(event.name);
      if (argument.name != "value") name.append(name.empty() ? "" : " ").append(argument.name);
      if (!event.id.empty()) name.append(" ").append(UnescapeJson(event.id));
      const size_t process = ProcessOf(event.process);
      auto [entry, is_new] = counters_.try_emplace({process, name});
      if (is_new) entry->second = builder_.AddCounter(processes_[process].group, name, "");
      const Status added = builder_.AddSample(entry->second, time, *value);
      if (!added) Leave("events with out-of-range timestamps", event);
    }
  }

  void Add(const Open& begun, int64_t duration) {
    Status added =
        builder_.Add(begun.lane, begun.start, duration, begun.name, begun.operation, begun.where);
    if (added) return;
    losses_.Count("events with out-of-range timestamps", [&] {
      return added.error().message + ", at byte " + std::to_string(begun.where);
    });
  }

  void End(std::vector<Open>& open, int64_t end, const ChromeEvent& event) {
    if (open.empty()) return Leave("end events without a begin event", event);
    const std::optional<int64_t> duration = CheckedSub(end, open.back().start);
    Add(open.back(), duration.value_or(-1));
    open.pop_back();
    if (end <= kLongestTime) last_time_ = std::max(last_time_, end);
  }

  // Events that never end last until the last time there is.
  void EndWhatIsOpen() {
    auto end = [&](Open& open) {
      losses_.Count("unterminated events, extended to the end of the trace",
                    [&] { return "the event at byte " + std::to_string(open.where); });
      Add(open, std::max<int64_t>(CheckedSub(last_time_, open.start).value_or(-1), 0));
    };
    for (auto& [lane, events] : open_) std::ranges::for_each(events, end);
    for (auto& [key, events] : open_async_) std::ranges::for_each(events, end);
  }

  std::optional<int64_t> TimeOf(const Microseconds& time) {
    if (!origin_) origin_ = time.whole;
    std::optional<int64_t> whole = CheckedSub(time.whole, *origin_);
    if (whole) whole = CheckedMul(*whole, kPicosecondsPerMicrosecond);
    if (whole) whole = CheckedAdd(*whole, time.picoseconds);
    if (whole && *whole <= kLongestTime) last_time_ = std::max(last_time_, *whole);
    return whole;
  }

  static std::optional<int64_t> LengthOf(const ChromeEvent& event) {
    if (!event.duration) return 0;
    std::optional<int64_t> whole = CheckedMul(event.duration->whole, kPicosecondsPerMicrosecond);
    return whole ? CheckedAdd(*whole, event.duration->picoseconds) : std::nullopt;
  }

  // Names are the same ones over and over; escapes are rare.
  NameId Name(std::string_view raw) {
    if (raw.find('\\') == std::string_view::npos) return builder_.Name(raw);
    return builder_.Name(UnescapeJson(raw));
  }
  NameId NameOf(const ChromeEvent& event) {
    return event.name.empty() ? builder_.Name("(unnamed)") : Name(event.name);
  }

  OperationId OperationOf(const ChromeEvent& event) {
    if (event.operation.empty()) return {};
    return builder_.AddOperation({.module = event.module.empty() ? NameId() : Name(event.module),
                                  .name = Name(event.operation),
                                  .program = IntegerOr(event.program, -1)});
  }

  size_t ProcessOf(std::string_view id) {
    auto [entry, is_new] = process_ids_.try_emplace(std::string(id), processes_.size());
    if (is_new) {
      const uint32_t group = builder_.AddGroup("", false);
      processes_.push_back({group, "process " + UnescapeJson(id), IntegerOr(id, 0), false});
    }
    return entry->second;
  }

  Thread& ThreadOf(std::string_view process, std::string_view thread) {
    if (last_ != kNoThread && process == last_process_ && thread == last_thread_) {
      return threads_[last_];
    }
    key_.assign(process).append(1, '\0').append(thread);
    auto [entry, is_new] = thread_ids_.try_emplace(key_, threads_.size());
    if (is_new) {
      const size_t owner = ProcessOf(process);
      const LaneId lane = builder_.AddLane(processes_[owner].group, "", LaneRole::kThread);
      threads_.push_back({lane, owner, "thread " + UnescapeJson(thread), IntegerOr(thread, 0)});
    }
    last_process_ = process;
    last_thread_ = thread;
    last_ = entry->second;
    return threads_[last_];
  }
  Thread& ThreadOf(const ChromeEvent& event) { return ThreadOf(event.process, event.thread); }

  // Asynchronous events of one category and process share a lane; what overlaps is stacked.
  LaneId AsyncLane(const ChromeEvent& event) {
    std::string id("\1");
    id += event.category;
    Thread& thread = ThreadOf(event.process, id);
    thread.name = "async " + UnescapeJson(event.category);
    last_ = kNoThread;  // `id` is gone
    return thread.lane;
  }
  static std::string AsyncKey(const ChromeEvent& event) {
    std::string key(event.process);
    return key.append(1, '\0').append(event.category).append(1, '\0').append(event.id);
  }

  void TakeMetadata(const ChromeEvent& event) {
    if (event.name == "process_name") {
      Process& process = processes_[ProcessOf(event.process)];
      process.name = UnescapeJson(event.shown_name);
      process.is_device = event.is_device.empty() ? process.name.starts_with("/device:")
                                                  : event.is_device == "true";
    } else if (event.name == "process_sort_index") {
      processes_[ProcessOf(event.process)].sort = IntegerOr(event.sort_index, 0);
    } else if (event.name == "thread_name") {
      if (!event.part_of.empty() && JoinThread(event)) return;
      Thread& thread = ThreadOf(event);
      thread.name = UnescapeJson(event.shown_name);
      thread.role = RoleNamed(event.role);
    } else if (event.name == "thread_sort_index") {
      ThreadOf(event).sort = IntegerOr(event.sort_index, 0);
    }
  }

  // A thread that holds what overlaps in the lane of another; false where it has a lane already.
  bool JoinThread(const ChromeEvent& event) {
    const Thread& whole = ThreadOf(event.process, event.part_of);
    key_.assign(event.process).append(1, '\0').append(event.thread);
    const size_t index = static_cast<size_t>(&whole - threads_.data());
    const bool is_new = thread_ids_.try_emplace(key_, index).second;
    last_ = kNoThread;
    return is_new;
  }

  // Devices come first, whatever the indices say.
  void NameLanes() {
    constexpr int64_t kFar = int64_t{1} << 40;
    for (const Process& process : processes_) {
      const int64_t sort =
          std::clamp(process.sort, -kFar, kFar) - (process.is_device ? 4 * kFar : 0);
      builder_.SetGroup(process.group, process.name, process.is_device, sort);
    }
    for (const Thread& thread : threads_) {
      const bool is_device = processes_[thread.process].is_device;
      builder_.SetLane(thread.lane, thread.name,
                       thread.role.value_or(RoleOfLine(thread.name, is_device)), thread.sort);
    }
  }

  static constexpr size_t kNoThread = std::numeric_limits<size_t>::max();

  const FileView& file_;
  const TraceRequest& request_;
  JsonCursor cursor_;
  std::shared_ptr<Profile> profile_;
  std::shared_ptr<ChromeArguments> arguments_;
  EventStoreBuilder builder_;
  Losses losses_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::unordered_map<std::string, size_t> process_ids_, thread_ids_;
  std::string key_;
  std::string_view last_process_, last_thread_;
  size_t last_ = kNoThread;
  std::map<uint32_t, std::vector<Open>> open_;
  std::map<std::string, std::vector<Open>> open_async_;
  std::map<std::pair<size_t, std::string>, CounterId> counters_;
  std::optional<int64_t> origin_;
  int64_t base_ns_ = 0;
  bool is_object_ = false, is_first_member_ = true;
  int64_t last_time_ = 0;
};

}  // namespace

bool IsChromeTrace(std::string_view bytes) {
  JsonCursor cursor(bytes, 512);
  bool is_first = true;
  if (cursor.Consume('[')) return cursor.Peek() == '{' || cursor.Peek() == ']';
  if (!cursor.Consume('{')) return false;
  while (std::optional<std::string_view> key = cursor.NextKey(is_first)) {
    if (*key == "traceEvents") return cursor.Peek() == '[';
    if (!cursor.SkipValue()) return false;
  }
  return false;
}

Result<std::shared_ptr<Profile>> ReadChromeTrace(const FileView& file,
                                                 const TraceRequest& request) {
  return ChromeReader(file, request).Read();
}

}  // namespace hloscope::profiler
