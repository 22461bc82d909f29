// Fixed names and whole files: the program serves exactly index.html and assets/page.{js,css}, assets/icon.svg.
export default {
  base: "/",
  build: {
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "assets/page.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/page[extname]",
      },
    },
  },
};
