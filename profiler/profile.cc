// Opening of traces.
#include "profiler/profile.h"

#include "profiler/chrome_reader.h"
#include "profiler/xplane_reader.h"

namespace hloscope::profiler {

std::string_view ToString(ProfileFormat format) {
  return format == ProfileFormat::kXPlane ? "xplane" : "chrome-json";
}

Result<std::shared_ptr<const Profile>> ReadProfile(const FileView& file, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop) {
  if (IsXSpace(file.bytes())) return ReadXSpace(file, jobs, stop);
  if (IsChromeTrace(file.bytes())) return ReadChromeTrace(file, limits, jobs, stop);
  return InputError(
      file.path() + ": neither an XSpace nor a Chrome trace",
      "expected .xplane.pb or .trace.json.gz as jax.profiler.trace leaves in plugins/profile");
}

Result<std::shared_ptr<const Profile>> OpenProfile(const std::string& path, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(path, limits));
  return ReadProfile(file, limits, jobs, stop);
}

}  // namespace hloscope::profiler
