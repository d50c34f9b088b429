// The table of observers: a row for each.
#include "core/debug/run/worker_observers.h"

#include "core/debug/nonfinite/nonfinite_observer.h"
#include "core/debug/run/capture_observer.h"

namespace hloscope::debug {
namespace {

constexpr replay::ObserverRow kRows[] = {
    {NonFiniteOriginObserver::kKind, &NonFiniteOriginObserver::Make},
    {CaptureObserver::kKind, &CaptureObserver::Make},
};

}  // namespace

std::span<const replay::ObserverRow> WorkerObservers() { return kRows; }

}  // namespace hloscope::debug
