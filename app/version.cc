#include "app/version.h"

#include "core/replay/platform.h"
#include "generated/build_facts.h"

namespace hloscope::app {

std::string VersionText() {
  std::string text = "hloscope " HLOSCOPE_VERSION " (commit ";
  text.append(Commit()).append(", " HLOSCOPE_BUILD_KIND ", " HLOSCOPE_COMPILER ")\n");
  text +=
      "built with: protobuf " HLOSCOPE_PROTOBUF ", fmt " HLOSCOPE_FMT ", zlib " HLOSCOPE_ZLIB "\n";
  text += "platforms:";
  for (const replay::PlatformRow& row : replay::PlatformRows())
    text.append(" ").append(row.name).append(",");
  text += " pjrt:FILE.so (`hloscope doctor` checks which of them work here)\n";
  text += HLOSCOPE_HAS_VIEWER != 0
              ? "viewer: built\n"
              : "viewer: not built (run `scripts/setup build` and build again)\n";
  return text;
}

}  // namespace hloscope::app
