// Session: everything of the viewer except drawing, as long as the window is open. Views and
// the model see it as a Context. Used from the main thread only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "viewer/model/bookmark.h"
#include "viewer/model/context.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {

struct SessionOptions {
  Limits limits;
  int threads = 2;
  std::function<void()> wake;                 // from any thread: there is something to draw
  std::string worker_program = kThisProgram;  // runs what the divergence lab asks for
  std::string state_folder;                   // where profiles of its runs go; empty: none is kept
};

class Session : public Context {
 public:
  explicit Session(const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Opens what the paths name in the background; everything of what was open is forgotten.
  void Open(const std::vector<std::string>& paths);
  // Takes over what the background found; true if there was anything. Once a frame.
  bool Update();
  // Nothing is loading, resolving or computing.
  bool idle() const { return tasks_.idle() && !experiment_.running(); }
  // Stops what is being read and computed. What was not finished stays so until Resume.
  void CancelWork();
  bool was_cancelled() const { return marks_.was_cancelled; }
  // Reads and computes again, on asking, what was cancelled; between frames: references to it end.
  void Resume();

 private:
  Document document_;
  Marks marks_;
  Requests requests_;
  Messages messages_;
  std::vector<Bookmark> bookmarks_;
  std::vector<std::string> recent_;
  // Threads end before what they use: tasks_ is the first to go.
  Experiment experiment_;
  TaskCache cache_;
  DumpData data_;
  Navigation navigation_;
  Tasks tasks_;
};

}  // namespace hloscope::viewer
