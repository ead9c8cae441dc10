// Disks that exist only in time: real bytes in memory, which arrive when a model (disk_model.h) says so on the clock of
// a discrete-event simulation (event_clock.h). No sleeping and no threads: hours of disk time pass in milliseconds, and
// a run is a function of its input.
//
// Files are files in memory (or any others: they are read and written when their transfer ends). A file is on the disk
// that its path was attached to. No thread may block in wait() before the clock has reached the transfer's end: the
// code that drives the simulation moves the clock instead of waiting.
#pragma once

#include <list>
#include <string>

#include "engine/base/mutex.h"
#include "engine/io/disk_model.h"
#include "engine/io/event_clock.h"
#include "engine/io/queueing_backend.h"

namespace flowrun::io {

class simulated_backend final : public queueing_backend {
 public:
  // The clock outlives the backend. `other`: a disk for all files that are on none of the attached ones.
  simulated_backend(event_clock& clock, disk_model other);

  // From now on, files at `path` or below it are on a disk of their own. Not while transfers are under way.
  void attach(std::string path, disk_model model);
  // What became of the disk attached at `path` (empty: the other one). Not while transfers are under way.
  const modelled_disk& disk_at(const std::string& path) const;

  const time_source& time() const override { return clock_; }
  std::string_view name() const override { return "simulated"; }

 private:
  struct disk {
    std::string path;
    modelled_disk timing;
  };
  void issue(request_queue admitted) noexcept override;
  disk& disk_of(const file& target);

  event_clock& clock_;
  mutex mutex_;            // guards the disks' timing; the list itself changes only while no transfer is under way
  std::list<disk> disks_;  // the other one first
};

}  // namespace flowrun::io
