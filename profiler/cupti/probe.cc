#include "profiler/cupti/probe.h"

#include "profiler/cupti/collector.h"
#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {

Probe ProbeCupti(const std::vector<std::string>& files) {
  Probe probe;
  const auto refused = [&](const Error& error) {
    probe.problem = error.message;
    probe.fix = error.hint;
  };
  const auto library = Library::Open(files, &probe.state);
  if (!library.has_value()) {
    refused(library.error());
    return probe;
  }
  probe.path = (*library)->path();
  probe.version = VersionText((*library)->version());
  const auto collector = Collector::Start(*library, {}, &probe.state);
  if (!collector.has_value()) refused(collector.error());
  return probe;
}

}  // namespace hloscope::profiler::cupti
