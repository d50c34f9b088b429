// What is kept between two starts: where it cannot be written, is damaged, or is of a later
// version.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/viewer/viewer_fixture.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A disk without room.
class FullDisk : public FileCalls {
 public:
  ssize_t Write(int /*fd*/, const void* /*buffer*/, size_t /*size*/) const override {
    errno = ENOSPC;
    return -1;
  }
};

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path());
  return out;
}

TEST_F(ViewerTest, AnUnwritableHomeIsASentence) {
  std::ofstream(Scratch("file")) << "not a folder";
  Start({Sample("conv_net")}, Scratch("file") + "/state");
  EXPECT_TRUE(Has(Messages(), "cannot be saved")) << "it is said while the window is there";
  app().Save();
  EXPECT_EQ(session().messages.all().size(), 1u) << "once";
  EXPECT_TRUE(Has(app().not_kept(), "cannot be created")) << app().not_kept();
  Settle();
}

TEST_F(ViewerTest, SettingsComeBack) {
  StateFolder folder(Scratch("settings"));
  KeptSettings kept{.dark = false, .zoom = 1.5f, .is_maximized = true, .recent = {"a"}};
  ASSERT_TRUE(folder.WriteSettings(kept).has_value());
  const KeptSettings read = StateFolder(Scratch("settings")).ReadSettings();
  EXPECT_FALSE(read.dark);
  EXPECT_TRUE(read.is_maximized);
  EXPECT_EQ(read.recent, kept.recent);
}

TEST_F(ViewerTest, AFullDiskIsASentence) {
  const FullDisk disk;
  state_calls_ = &disk;
  Start({Sample("conv_net")}, Scratch("state"));
  EXPECT_TRUE(Has(Messages(), "No space left")) << Messages();
  Press("Ctrl+2");
  app().Save();
  EXPECT_EQ(app().dock().screen(), "graph");
  EXPECT_TRUE(FilesOf(Scratch("state")).empty()) << "nothing half-written remains";
}

TEST_F(ViewerTest, WhatChangedIsToBeKept) {
  Start({Sample("conv_net")}, Scratch("state"));
  app().Save();
  EXPECT_FALSE(app().unsaved());
  session().navigation.Select(Selection::OfModule(0));
  EXPECT_TRUE(app().unsaved());
  app().Save();
  EXPECT_FALSE(app().unsaved());
  Press("Ctrl+2");
  EXPECT_TRUE(app().unsaved());
}

TEST_F(ViewerTest, TheSecondDumpComesBack) {
  const std::string state = Scratch("state"), second = Scratch("second");
  std::filesystem::copy(Sample("mlp_train_step"), second, std::filesystem::copy_options::recursive);
  Start({Sample("conv_net")}, state);
  app().Save();
  session().second.Open(second);
  EXPECT_TRUE(app().unsaved());
  Settle();
  Press("Ctrl+5");
  app().Save();
  Stop();
  Start({Sample("conv_net")}, state);
  EXPECT_EQ(session().second.path(), second);
  EXPECT_TRUE(session().second.dump().ready());
  EXPECT_EQ(app().dock().screen(), "kernels") << "as it was left";
  Stop();
  // One on the command line is meant instead.
  Start({Sample("conv_net"), Sample("attention_block")}, state);
  EXPECT_EQ(session().second.path(), Sample("attention_block"));
  Stop();
  std::filesystem::remove_all(second);
  Start({Sample("conv_net")}, state);
  EXPECT_FALSE(session().second.is_open());
  EXPECT_TRUE(Has(Messages(), "there is no " + second + " any more")) << Messages();
  EXPECT_TRUE(session().document.dump().ready());
  // Closed, it is forgotten.
  app().Save();
  Stop();
  Start({Sample("conv_net")}, state);
  EXPECT_EQ(Messages(), "");
}

TEST_F(ViewerTest, DamagedStateStartsAnew) {
  const std::string state = Scratch("state");
  Start({Sample("conv_net")}, state);
  Press("Ctrl+2");
  app().Save();
  Stop();
  const std::vector<std::string> files = FilesOf(state);
  ASSERT_EQ(files.size(), 3u);
  const char* damages[] = {
      "",
      "{",
      "[]",
      "null",
      "\xff\xfe\0\x01",
      "{\"views\":7,\"recent\":{},\"bookmarks\":[1,{\"kind\":99,\"module\":1e30}]}",
      "{\"zoom_percent\":-9223372036854775808,\"views\":{\"graph\":\"\xc3\x28 nan 1e999 "
      "-1\",\"timeline\":"
      "\"9e99 -9e99\",\"text\":\"2147483647\",\"memory\":\"x\"},\"selection\":\":::@@\"}",
      "[Window][###home.home]\nPos=99999999,nan\nSize=-1,-1\nDockId=0xFFFFFFFF,99\n[Docking][Data]"
      "\nDockNode ID=0x1 Parent=0x2\nDockSplit ID=0xF\n"};
  for (const char* damage : damages) {
    for (const std::string& file : files) std::ofstream(file, std::ios::binary) << damage;
    Start({Sample("conv_net")}, state);
    VisitEverything();
    EXPECT_TRUE(app().not_kept().empty()) << app().not_kept();
    Stop();
  }
  std::ofstream(files[0]) << "{";
  std::ofstream(files[1]) << "{";
  std::ofstream(files[2]) << "{";
  Start({Sample("conv_net")}, state);
  EXPECT_TRUE(Has(Messages(), "corrupt")) << Messages();
}

TEST_F(ViewerTest, StateOfALaterVersionStaysAsItIs) {
  const std::string state = Scratch("state");
  Start({Sample("conv_net")}, state);
  app().Save();
  Stop();
  const std::string later = "{\"version\":99,\"theme\":{\"of\":\"the future\"}}";
  std::vector<std::string> files;
  for (const std::string& file : FilesOf(state)) {
    if (file.ends_with(".json")) files.push_back(file);
  }
  ASSERT_EQ(files.size(), 2u);
  for (const std::string& file : files) std::ofstream(file) << later;
  Start({Sample("conv_net")}, state);
  EXPECT_TRUE(Has(Messages(), "written by a newer hloscope")) << Messages();
  Press("Ctrl+2");
  app().Save();
  for (const std::string& file : files) {
    std::ifstream in(file);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), later);
  }
}

}  // namespace
}  // namespace hloscope::viewer
