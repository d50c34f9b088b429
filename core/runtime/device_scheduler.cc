// DeviceScheduler: whose turn ends switches to the fiber of the next.
#include "core/runtime/device_scheduler.h"

#include <fmt/format.h>

#include <array>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "core/base/work_count.h"
#include "core/runtime/fiber.h"
#include "core/runtime/recording.h"

namespace hloscope::runtime {
namespace {

constexpr int64_t kMaxReasons = 8;  // of a deadlock's message
// Who defers runs where nobody else can.
enum class State : uint8_t { kReady, kDeferring, kWaiting, kEnded };
constexpr size_t kStates = 4;

}  // namespace

class DeviceScheduler::Stage {
 public:
  explicit Stage(int64_t devices) : places_(static_cast<size_t>(devices)) {
    for (int64_t d = 0; d < devices; ++d) In(State::kReady).insert(In(State::kReady).end(), d);
  }

  int64_t devices() const { return static_cast<int64_t>(places_.size()); }

  Status Run(int64_t stack_bytes, const std::function<Status(int64_t)>& body) {
    body_ = &body;
    if (devices() == 1) {
      Perform(0);
    } else {
      HLOSCOPE_TRY(RunFibers(stack_bytes));
    }
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

  Status Wait(int64_t device, std::function<std::string()> reason) {
    if (failure_) return std::unexpected(*failure_);
    Enter(device, State::kWaiting);
    At(device).reason = std::move(reason);
    PassOn(device);
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

  Status Yield(int64_t device) {
    if (!failure_) PassOn(device);
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

  Status Defer(int64_t device) {
    if (failure_) return std::unexpected(*failure_);
    Enter(device, State::kDeferring);
    PassOn(device);
    Enter(device, State::kReady);
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

  void Wake(int64_t device) {
    const State state = At(device).state;
    if (state == State::kWaiting || state == State::kDeferring) Enter(device, State::kReady);
  }

  bool HasEnded(int64_t device) { return At(device).state == State::kEnded; }

  std::function<void(int64_t, int64_t, int64_t)> on_wait_;

 private:
  struct Place {
    State state = State::kReady;
    std::function<std::string()> reason;
    Fiber fiber;
  };
  struct Performer {
    Stage* stage;
    int64_t device;
  };

  Place& At(int64_t device) {
    CountWork(1);
    return places_[static_cast<size_t>(device)];
  }
  // The devices of a state: what a switch asks for is found without a look at all of them.
  std::set<int64_t>& In(State state) { return in_[static_cast<size_t>(state)]; }
  void Enter(int64_t device, State state) {
    const State old = std::exchange(At(device).state, state);
    if (old != state) In(state).insert(In(old).extract(device));
  }

  Status RunFibers(int64_t stack_bytes) {
    std::vector<Performer> performers;
    for (int64_t d = 0; d < devices(); ++d) performers.push_back({this, d});
    for (Performer& performer : performers) {
      Place& place = At(performer.device);
      if (failure_ || !place.fiber.Make(stack_bytes, &Stage::Start, &performer)) {
        if (!failure_) NoteNoStacks(performer.device);
        Enter(performer.device, State::kEnded);
      }
    }
    if (At(0).state != State::kEnded) Fiber::Switch(caller_, At(0).fiber);
    return {};
  }

  void NoteNoStacks(int64_t made) {
    failure_ =
        EnvironmentError(
            fmt::format("there is memory for the stacks of only {} of {} devices", made, devices()),
            "raise the process's limit of memory")
            .error();
  }

  static void Start(void* performer) {
    auto [stage, device] = *static_cast<Performer*>(performer);
    stage->Perform(device);
    const int64_t next = stage->Next(device);
    Fiber::Switch(stage->At(device).fiber, next < 0 ? stage->caller_ : stage->At(next).fiber,
                  Fiber::kEnds);
  }

  void Perform(int64_t device) {
    Status status;
    try {
      if (!failure_) status = (*body_)(device);
    } catch (const std::bad_alloc&) {
      status = EnvironmentError("out of memory while evaluating",
                                "free memory, or use a smaller module");
    }
    Enter(device, State::kEnded);
    if (!status.has_value() && !failure_) Fail(std::move(status).error());
  }

  // From here on every device that gets its turn ends.
  void Fail(Error error) {
    failure_ = std::move(error);
    while (!In(State::kWaiting).empty()) Enter(*In(State::kWaiting).begin(), State::kReady);
  }

  // The next device that can run after `device`, itself last; -1 if none can. Where some wait but
  // none can run, they are in deadlock and all fail.
  int64_t Next(int64_t device) {
    for (const State state : {State::kReady, State::kDeferring}) {
      if (In(state).empty()) continue;
      const auto next = In(state).upper_bound(device);
      return next == In(state).end() ? *In(state).begin() : *next;
    }
    if (In(State::kWaiting).empty()) return -1;
    Error deadlock;
    deadlock.error_class = ErrorClass::kDeadlock;
    deadlock.message = "deadlock: " + Reasons();
    Fail(std::move(deadlock));
    return Next(device);
  }

  std::string Reasons() const {
    std::string text;
    int64_t count = 0;
    for (int64_t d = 0; d < std::ssize(places_); ++d) {
      const Place& place = places_[static_cast<size_t>(d)];
      if (place.state != State::kWaiting || ++count > kMaxReasons) continue;
      text += fmt::format("{}device {} waits {}", text.empty() ? "" : "; ", d, place.reason());
    }
    if (count > kMaxReasons) text += fmt::format("; {} more wait", count - kMaxReasons);
    return text;
  }

  void PassOn(int64_t device) {
    const int64_t next = Next(device);
    if (next == device || next < 0) return;
    const int64_t start = on_wait_ ? SteadyNanoseconds() : 0;
    Fiber::Switch(At(device).fiber, At(next).fiber);
    if (on_wait_) on_wait_(device, start, SteadyNanoseconds());
  }

  const std::function<Status(int64_t)>* body_ = nullptr;
  Fiber caller_;
  std::vector<Place> places_;
  std::array<std::set<int64_t>, kStates> in_;
  std::optional<Error> failure_;
};

DeviceScheduler::DeviceScheduler(int64_t devices) : stage_(std::make_unique<Stage>(devices)) {}
DeviceScheduler::~DeviceScheduler() = default;
int64_t DeviceScheduler::devices() const { return stage_->devices(); }
void DeviceScheduler::set_on_wait(std::function<void(int64_t, int64_t, int64_t)> on_wait) {
  stage_->on_wait_ = std::move(on_wait);
}
Status DeviceScheduler::Run(int64_t stack_bytes, const std::function<Status(int64_t)>& body) {
  return stage_->Run(stack_bytes, body);
}
Status DeviceScheduler::Wait(int64_t device, std::function<std::string()> reason) {
  return stage_->Wait(device, std::move(reason));
}
Status DeviceScheduler::Defer(int64_t device) { return stage_->Defer(device); }
void DeviceScheduler::Wake(int64_t device) { stage_->Wake(device); }
Status DeviceScheduler::Yield(int64_t device) { return stage_->Yield(device); }
bool DeviceScheduler::HasEnded(int64_t device) const { return stage_->HasEnded(device); }

}  // namespace hloscope::runtime
