// EqualRows: a list of instructions on Home in which those that say the same are one row, which
// opens to all of them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/facts/module_facts.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class EqualRows {
 public:
  // Instructions are of that stage of the module; a click selects one.
  void Draw(Frame& frame, const std::vector<ModuleFacts::Equals>& rows, int32_t module,
            int32_t stage);
  // Which rows are open, one a line, and back.
  std::string Opened() const;
  void SetOpened(std::string_view opened);

 private:
  static void DrawOne(Frame& frame, const ModuleFacts::Moved& one, const std::string& text,
                      const Selection& selection);
  void DrawGroup(Frame& frame, const ModuleFacts::Equals& group, int32_t module, int32_t stage);

  std::set<std::string> opened_;  // by what they say
};

}  // namespace hloscope::viewer
