#include "app/command.h"
namespace hloscope::app { namespace { class D : public Command { public: std::vector<OptionSpec> Options() override { return {}; } int Run(const Context&) override { return 0; } }; }
std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<D>(); } }
