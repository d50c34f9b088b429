// Context: the parts of a session that views and the model work with. Each part has a header of its
// own; who uses one includes that.
#pragma once

#include <string>
#include <vector>

namespace hloscope::viewer {

class Document;
class DumpData;
class Experiment;
class Messages;
class Navigation;
class Requests;
class SecondDump;
class TaskCache;
class Tasks;
struct Bookmark;
struct HeatChoice;
struct Marks;

struct Context {
  Document& document;      // what is open
  Navigation& navigation;  // what is selected and in view
  DumpData& data;          // what is read of the dump
  SecondDump& second;      // what the dump is compared with
  TaskCache& cache;        // anything else that is computed in the background
  Marks& marks;            // what views mark for each other
  Requests& requests;      // what is asked of the frame around the views
  Messages& messages;      // sentences for the user
  HeatChoice& heat;        // which measure fills boxes, rows and lines
  // Folders in which the user's program may be read, as the user named them.
  std::vector<std::string>& source_folders;
  Experiment& experiment;            // what the divergence lab runs
  std::vector<Bookmark>& bookmarks;  // of the user
  std::vector<std::string>& recent;  // paths that were opened before, newest first
  Tasks& tasks;                      // the threads of all this
};

}  // namespace hloscope::viewer
