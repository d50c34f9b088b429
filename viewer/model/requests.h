// Requests: what a view or command asks of the frame around it, done once the frame is drawn.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "viewer/commands/commands.h"

namespace hloscope::viewer {

// Shows the screen or view of that id.
struct ShowView {
  std::string view;
};
// Opens something else.
struct OpenPaths {
  std::vector<std::string> paths;
};
struct RunCommand {
  Command command;
};
// Looks for words in everything.
struct SearchFor {
  std::string words;
};
using Request = std::variant<ShowView, OpenPaths, RunCommand, SearchFor>;

class Requests {
 public:
  void Add(Request request) { waiting_.push_back(std::move(request)); }
  void Show(std::string_view view) { Add(ShowView{std::string(view)}); }
  void Run(Command command) { Add(RunCommand{command}); }
  // In the order they came.
  std::vector<Request> Take() { return std::exchange(waiting_, {}); }

 private:
  std::vector<Request> waiting_;
};

}  // namespace hloscope::viewer
