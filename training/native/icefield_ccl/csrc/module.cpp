// One unit for the compiler: torch's headers, not our code, take the time.
#include <torch/python.h>

#include "process_group.cpp"
#include "movements.cpp"
#include "reductions.cpp"

PYBIND11_MODULE(ICEFIELD_CCL_MODULE, module) {
  module.def(
      "create",
      [](const c10::intrusive_ptr<c10d::Store>& store, int rank, std::vector<std::string> hosts, int64_t timeout_ms,
         int64_t deadline_ms, const std::string& name) -> c10::intrusive_ptr<c10d::Backend> {
        return c10::make_intrusive<icefield::ProcessGroupCcl>(store, rank, std::move(hosts), icefield::Milliseconds(timeout_ms),
                                                              icefield::Milliseconds(deadline_ms), name);
      },
      pybind11::arg("store"), pybind11::arg("rank"), pybind11::arg("hosts"), pybind11::arg("timeout_ms"),
      pybind11::arg("deadline_ms"), pybind11::arg("name"), pybind11::call_guard<pybind11::gil_scoped_release>());
  // Not every torch that this is built for has a name in Python for it.
  module.def(
      "set_timeout",
      [](const c10::intrusive_ptr<c10d::Backend>& backend, int64_t timeout_ms) {
        dynamic_cast<icefield::ProcessGroupCcl&>(*backend).setTimeout(icefield::Milliseconds(timeout_ms));
      },
      pybind11::arg("backend"), pybind11::arg("timeout_ms"));
  module.def(
      "doing",
      [](const c10::intrusive_ptr<c10d::Backend>& backend) {
        return dynamic_cast<const icefield::ProcessGroupCcl&>(*backend).doing();
      },
      pybind11::arg("backend"), pybind11::call_guard<pybind11::gil_scoped_release>());
}
