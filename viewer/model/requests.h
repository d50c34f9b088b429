// Requests: what a view or command asks of the frame around it, done once the frame is drawn; of
// several of one kind the last.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viewer/commands/commands.h"

namespace hloscope::viewer {

class Requests {
 public:
  // The screen or view of that id is to be shown.
  void Show(std::string_view view) { asked_.view = view; }
  void Open(std::vector<std::string> paths) { asked_.paths = std::move(paths); }
  void Run(Command command) { asked_.command = command; }
  // Words are to be looked for in everything.
  void Search(std::string words) { asked_.words = std::move(words); }

  struct All {
    std::string view, words;         // empty: none
    std::vector<std::string> paths;  // empty: none
    std::optional<Command> command;
  };
  All Take() { return std::exchange(asked_, {}); }

 private:
  All asked_;
};

}  // namespace hloscope::viewer
