// The table of observers: a row for each.
#include "core/debug/worker_observers.h"

#include "core/debug/capture_observer.h"
#include "core/debug/nonfinite_observer.h"

namespace hloscope::debug {
namespace {

constexpr replay::ObserverRow kRows[] = {
    {BirthObserver::kKind, &BirthObserver::Make},
    {CaptureObserver::kKind, &CaptureObserver::Make},
};

}  // namespace

std::span<const replay::ObserverRow> WorkerObservers() { return kRows; }

}  // namespace hloscope::debug
