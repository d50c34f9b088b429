// Facts of the build.
#include "app/version.h"

#include "generated/build_facts.h"

namespace hloscope::app {

std::string VersionText() {
  std::string text = "hloscope " HLOSCOPE_VERSION " (commit " HLOSCOPE_COMMIT
                     ", " HLOSCOPE_BUILD_KIND ", " HLOSCOPE_COMPILER ")\n";
  text +=
      "built with: protobuf " HLOSCOPE_PROTOBUF ", fmt " HLOSCOPE_FMT ", zlib " HLOSCOPE_ZLIB "\n";
  text += "platforms: interpreter\n";
  return text;
}

}  // namespace hloscope::app
