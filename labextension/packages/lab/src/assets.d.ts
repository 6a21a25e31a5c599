declare module "*.py?raw" {
  const code: string;
  export default code;
}

declare module "*.css?inline" {
  const css: string;
  export default css;
}
