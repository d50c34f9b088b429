// The profiles that were opened with a dump come back with it; the start page offers samples.
#include <algorithm>
#include <filesystem>

#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/profile_model.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

using Paths = std::vector<std::string>;

class KeptProfilesTest : public ReadingTest {
 protected:
  void SetUp() override {
    ReadingTest::SetUp();
    std::filesystem::copy_file(Sample("conv_net/conv_net.xplane.pb.gz"),
                               trace_ = Scratch("t.xplane.pb.gz"));
    state_ = Scratch("state");
  }
  void Keep(const Paths& paths) {
    Start(paths, state_);
    app().Save();
    Stop();
  }

  const std::string dump_ = Sample("attention_block");
  std::string trace_, state_;
};

TEST_F(KeptProfilesTest, TheyComeBackWithTheirDump) {
  Start({dump_}, state_);
  app().Save();
  EXPECT_FALSE(app().unsaved());
  app().Open({trace_, dump_});
  Settle();
  ASSERT_EQ(session().document.profile_paths(), Paths{trace_});
  session().document.CompareWith(Sample("conv_net"));
  EXPECT_TRUE(app().unsaved());
  Settle();
  app().Save();
  Stop();
  Start({}, state_);
  ClickOn("home", dump_);
  EXPECT_EQ(session().document.path(), dump_);
  EXPECT_EQ(session().document.profile_paths(), Paths{trace_});
  EXPECT_EQ(session().document.second_profile(), Sample("conv_net"));
  EXPECT_EQ(Messages(), "");
}

TEST_F(KeptProfilesTest, OneThatIsNamedIsMeantInstead) {
  Keep({dump_, trace_});
  const std::string other = Sample("conv_net/conv_net.trace.json.gz");
  Start({dump_, other}, state_);
  EXPECT_EQ(session().document.profile_paths(), Paths{other});
}

TEST_F(KeptProfilesTest, OneThatIsGoneIsNamed) {
  Keep({dump_, trace_});
  std::filesystem::remove(trace_);
  Start({dump_}, state_);
  EXPECT_TRUE(session().document.profile_paths().empty());
  EXPECT_TRUE(Has(Messages(), "profile not opened: there is no " + trace_ + " any more"))
      << Messages();
}

// A path that cannot be asked for says why, not that nothing is there.
TEST_F(KeptProfilesTest, OneThatCannotBeReachedSaysWhy) {
  const std::string loop = Scratch("loop.xplane.pb.gz");
  std::filesystem::copy_file(trace_, loop);
  Keep({dump_, loop});
  std::filesystem::remove(loop);
  std::filesystem::create_symlink(loop, loop);
  Start({dump_}, state_);
  EXPECT_TRUE(Has(Messages(), "profile not opened: " + loop + ": ")) << Messages();
  EXPECT_FALSE(Has(Messages(), "there is no")) << Messages();
}

// It would be shown in the place of the first.
TEST_F(KeptProfilesTest, ASecondAloneIsNotOpened) {
  Start({dump_, trace_}, state_);
  session().document.CompareWith(Sample("conv_net"));
  Settle();
  app().Save();
  Stop();
  std::filesystem::remove(trace_);
  Start({dump_}, state_);
  EXPECT_EQ(session().document.second_profile(), "");
  EXPECT_TRUE(ProfilePaths(session()).empty());
}

// A run of the lab shows what it recorded; the next start has what was opened.
TEST_F(KeptProfilesTest, WhatWasRecordedHereIsNotOpenedAgain) {
  Start({dump_}, state_);
  session().document.ShowProfile(trace_);
  Settle();
  app().Save();
  Stop();
  Start({dump_}, state_);
  EXPECT_EQ(session().document.profile_paths(), Paths());
  EXPECT_EQ(Messages(), "");
}

TEST_F(KeptProfilesTest, ThoseThatWereClosedStayClosed) {
  Keep({dump_, trace_});
  Start({dump_}, state_);
  app().Run(Command::kCloseProfiles);
  Settle();
  EXPECT_TRUE(session().document.profile_paths().empty());
  EXPECT_TRUE(session().document.dump().ready());
  app().Save();
  Stop();
  Start({dump_}, state_);
  EXPECT_TRUE(session().document.profile_paths().empty());
  EXPECT_EQ(Messages(), "");
}

// Every row of samples.def is there and opens without a complaint.
TEST_F(KeptProfilesTest, EverySampleOfTheStartPageOpens) {
  constexpr const char* kSamples[] = {
#define SAMPLE(path, what) path,
#include "viewer/views/home/samples.def"
#undef SAMPLE
  };
  for (const char* sample : kSamples) {
    SCOPED_TRACE(sample);
    Start({});
    ClickOn("home", std::string(sample) + ": ");
    EXPECT_TRUE(std::filesystem::equivalent(session().document.path(), Sample(sample)));
    EXPECT_TRUE(session().document.dump().ready());
    EXPECT_EQ(Messages(), "");
    Stop();
  }
}

}  // namespace
}  // namespace hloscope::viewer
