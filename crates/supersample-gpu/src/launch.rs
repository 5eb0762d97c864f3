//! Launches: the one place where kernels are called with what the host made ready for them.

use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg};

use crate::device::Device;
use crate::error::Result;

/// Threads of a block, for every kernel.
pub(crate) const THREADS: u32 = 256;

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    Pointer(u64),
    Long(i64),
    Int(i32),
    Double(f64),
}

impl Arg {
    pub(crate) const NULL: Arg = Arg::Pointer(0);

    pub(crate) fn long(number: usize) -> Arg {
        Arg::Long(number as i64)
    }

    pub(crate) fn int(number: usize) -> Arg {
        Arg::Int(i32::try_from(number).expect("a number of tiles or coordinates"))
    }
}

impl Device {
    /// Where memory begins on the device, from element `first` on.
    pub(crate) fn at<T>(&self, memory: &CudaSlice<T>, first: usize) -> Arg {
        assert!(first <= memory.len());
        let (pointer, _) = memory.device_ptr(self.stream());
        Arg::Pointer(pointer + (first * size_of::<T>()) as u64)
    }

    /// Where memory begins, or nowhere.
    pub(crate) fn at_option<T>(&self, memory: Option<&CudaSlice<T>>) -> Arg {
        memory.map_or(Arg::NULL, |memory| self.at(memory, 0))
    }

    /// Blocks that give each of `len` elements a thread.
    pub(crate) fn blocks_for(len: usize) -> (u32, u32) {
        (len.div_ceil(THREADS as usize).max(1) as u32, 1)
    }

    /// Blocks that fill the device for a pass over `len` elements.
    pub(crate) fn blocks_for_pass(&self, len: usize) -> (u32, u32) {
        let (most, _) = Device::blocks_for(len);
        (most.min(self.multiprocessors() * 4), 1)
    }

    /// Calls a kernel with arguments that must be those of its source, in number, type and what they point to.
    #[expect(unsafe_code, reason = "the device cannot check what it is given")]
    pub(crate) fn launch(
        &self,
        function: &CudaFunction,
        (x, y): (u32, u32),
        shared: u32,
        args: &[Arg],
    ) -> Result<()> {
        let mut builder = self.stream().launch_builder(function);
        for arg in args {
            match arg {
                Arg::Pointer(pointer) => builder.arg(pointer),
                Arg::Long(number) => builder.arg(number),
                Arg::Int(number) => builder.arg(number),
                Arg::Double(number) => builder.arg(number),
            };
        }
        let config =
            LaunchConfig { grid_dim: (x, y, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: shared };
        // SAFETY: every caller stands beside the kernel's signature in this crate and is held against it by
        // tests/device.rs under compute-sanitizer; memory is freed on the stream of the launch, so after it.
        unsafe { builder.launch(config) }?;
        Ok(())
    }
}
