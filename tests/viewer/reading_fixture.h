// A viewer whose tests see what is written on the screen, and click on that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/viewer/screen_text.h"
#include "tests/viewer/viewer_fixture.h"

namespace hloscope::viewer {

class ReadingTest : public ViewerTest {
 protected:
  // A folder with a module whose only pass wrote frontend attributes and a backend config.
  std::string AnnotatedDump() const;
  // The characters in a view; "window": in all of it.
  std::vector<SeenCharacter> Seen(std::string_view view);
  void ExpectSeen(std::string_view view, std::string_view text);
  // On the middle of what is written there, or `left` pixels before it begins; what cannot be seen
  // cannot be clicked.
  void ClickOn(std::string_view view, std::string_view text, std::optional<float> left = {});
};

}  // namespace hloscope::viewer
